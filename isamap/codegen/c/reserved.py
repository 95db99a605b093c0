"""Names that mean something else in generated C already.

In: a name. Out: one that can be declared. Not its job: names that two things of one program share.

C text declares a kernel's name, its buffers' and its loops'. Words of C and C++ (where a header may
be used), macros that compilers define, types and functions of the headers that generated code
includes cannot be declared again; a function with the name of one of the C library's would be
called in its place by a program that is linked to it.
"""

KEYWORDS = (
    "auto break case char const continue default do double else enum extern float for goto if"
    " inline int long register restrict return short signed sizeof static struct switch typedef"
    " union unsigned void volatile while asm typeof"
    " alignas alignof and and_eq bitand bitor bool catch char8_t class compl concept consteval"
    " constexpr constinit const_cast co_await co_return co_yield decltype delete dynamic_cast"
    " explicit export false friend mutable namespace new noexcept not not_eq nullptr operator or"
    " or_eq private protected public reinterpret_cast requires static_assert static_cast template"
    " this thread_local throw true try typeid typename using virtual wchar_t xor xor_eq"
)
MACROS = (
    "linux unix i386 NULL EOF NAN INFINITY HUGE_VAL HUGE_VALF HUGE_VALL EXIT_FAILURE EXIT_SUCCESS"
    " RAND_MAX BUFSIZ FILENAME_MAX FOPEN_MAX L_tmpnam TMP_MAX SEEK_CUR SEEK_END SEEK_SET errno"
    " assert stdin stdout stderr signgam math_errhandling isfinite isinf isnan isnormal signbit"
    " fpclassify isgreater isgreaterequal isless islessequal islessgreater isunordered FILE DIR"
)
MATH = (  # with f and l behind them as well
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem erf erfc exp exp10"
    " exp2 expm1 fabs fdim finite floor fma fmax fmin fmod frexp gamma hypot ilogb j0 j1 jn"
    " ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint"
    " nextafter nexttoward pow pow10 remainder remquo rint round roundeven scalb scalbln scalbn"
    " significand sin sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn"
)
FUNCTIONS = (
    "main abort abs atexit atof atoi atol atoll bsearch calloc div exit free getenv labs ldiv llabs"
    " lldiv malloc qsort quick_exit rand random realloc srand strtod strtof strtol strtoul system"
    " memccpy memchr memcmp memcpy memmove memset strcat strchr strcmp strcoll strcpy strcspn"
    " strdup strerror strlen strncat strncmp strncpy strpbrk strrchr strspn strstr strtok strxfrm"
    " bcmp bcopy bzero ffs ffsl ffsll index rindex"
    " clearerr fclose feof ferror fflush fgetc fgets fopen fprintf fputc fputs fread freopen fscanf"
    " fseek ftell fwrite getc getchar gets getline perror printf putc putchar puts remove rename"
    " rewind scanf setbuf snprintf sprintf sscanf tmpfile ungetc vprintf"
    " access alarm brk chdir chown close creat crypt dup execv fork fsync getpid ioctl kill link"
    " lseek madvise mmap mprotect munmap nice open pause pipe poll pread pwrite read readv select"
    " send recv signal sleep stat swab symlink sync syscall time truncate unlink usleep wait write"
    " writev clock difftime mktime strftime alloca"
)
RESERVED = frozenset(
    (*KEYWORDS.split(), *MACROS.split(), *FUNCTIONS.split(),
     *(name + end for name in MATH.split() for end in ("", "f", "l")))
)  # fmt: skip


def declared(name: str) -> str:
    """The name, or one like it that C, compilers and headers leave to programs: what begins with an
    underscore is theirs, types end in `_t`, and numbers of math.h begin with `M_`."""
    if name.startswith(("_", "M_")):
        name = f"c{name}"
    while name in RESERVED or name.endswith("_t"):
        name += "_"
    return name
