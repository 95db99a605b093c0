"""Odd small sizes for every kernel of `kernels/`: primes, ones, strides that leave rests.

In: nothing. Out: by file and kernel, sizes beside its defaults. Not its job: running kernels.
"""

Sizes = dict[str, int]

MATRIX: list[Sizes] = [
    {"m": 1, "n": 1, "k": 1},
    {"m": 5, "n": 3, "k": 7},
    {"m": 33, "n": 17, "k": 65},
]
CONV: list[Sizes] = [
    {"n": 1, "h": 1, "w": 1, "c": 1, "r": 1, "s": 1, "stride": 1, "pad": 0},
    {"n": 2, "h": 7, "w": 5, "c": 3, "r": 3, "s": 2, "stride": 2, "pad": 1},
    {"n": 1, "h": 4, "w": 9, "c": 2, "r": 2, "s": 5, "stride": 3, "pad": 4},
    {"n": 3, "h": 14, "w": 13, "c": 11, "r": 3, "s": 3, "stride": 1, "pad": 1},
]


def each(common: list[Sizes], **others: int) -> list[Sizes]:
    """Every set of sizes with `others` added."""
    return [{**sizes, **others} for sizes in common]


def without(common: list[Sizes], *names: str) -> list[Sizes]:
    """Every set of sizes with `names` left out."""
    return [{name: sizes[name] for name in sizes if name not in names} for sizes in common]


FORMS = ("", "_tn", "_nt", "_tt", "_i8", "_f32", "_bf16")
ROWS: list[Sizes] = [{"m": 1, "n": 1}, {"m": 3, "n": 37}, {"m": 7, "n": 2}]
POOL = [*CONV[:3], {"n": 1, "h": 3, "w": 2, "c": 5, "r": 2, "s": 2, "stride": 2, "pad": 3}]
STEPS: list[Sizes] = [
    {"steps": 1, "batch": 1, "inputs": 1, "hidden": 1},
    {"steps": 3, "batch": 2, "inputs": 5, "hidden": 7},
]
TRANSPOSED = [*without(CONV[:2], "pad"), *each(without(CONV[2:3], "pad"), r=3, s=2)]

ODD_SIZES: dict[tuple[str, str], list[Sizes]] = {
    **{("gemm", f"gemm{form}"): MATRIX for form in FORMS},
    ("gemv", "gemv"): without(MATRIX, "n"),
    ("batched_gemm", "batched_gemm"): each(MATRIX, b=3),
    **{
        ("conv2d", name): [
            *({"k": 1 + i, **sizes} for i, sizes in enumerate(CONV)),
            {"n": 2, "h": 9, "w": 8, "c": 3, "k": 2, "stride": 2, "pad": 3, "dilation": 3},
        ]
        for name in ("conv2d", "conv2d_f32", "conv2d_bf16")
    },
    ("depthwise_conv", "depthwise_conv"): CONV,
    ("pointwise_conv", "pointwise_conv"): [
        {"n": 1, "h": 1, "w": 1, "c": 1, "k": 1},
        {"n": 2, "h": 5, "w": 3, "c": 7, "k": 9},
    ],
    ("conv1d", "conv1d"): [
        {"n": 1, "w": 1, "c": 1, "k": 1, "s": 1, "pad": 0},
        {"n": 2, "w": 11, "c": 3, "k": 5, "s": 3, "stride": 2, "pad": 4, "dilation": 3},
    ],
    ("conv1d", "causal_conv1d"): [
        {"n": 1, "w": 1, "c": 1, "k": 1, "s": 3},
        {"n": 2, "w": 13, "c": 3, "k": 5, "s": 3, "dilation": 5},
    ],
    ("conv3d", "conv3d"): [
        {"n": 1, "d": 1, "h": 1, "w": 1, "c": 1, "k": 1, "t": 1, "r": 1, "s": 1, "pad": 0},
        {"n": 2, "d": 3, "h": 5, "w": 4, "c": 3, "k": 2, "t": 2, "stride": 2, "dilation": 2},
    ],
    ("grouped_conv", "grouped_conv"): each(CONV[:3], groups=3, k=2),
    ("per_sample_conv", "per_sample_conv"): each(CONV[:3], k=5),
    ("capsule_conv", "capsule_conv"): [
        *each(CONV[:1], k=1, pose=1),
        {"n": 2, "h": 5, "w": 3, "c": 3, "k": 2, "r": 2, "s": 3, "pose": 3, "stride": 2, "pad": 1},
    ],
    ("grouped_fully_connected", "grouped_fully_connected"): [
        {"n": 1, "groups": 1, "c": 1, "k": 1},
        {"n": 5, "groups": 3, "c": 7, "k": 2},
    ],
    **{
        ("mttkrp", name): [{"i": 1, "j": 1, "m": 1, "n": 1}, {"i": 5, "j": 3, "m": 7, "n": 2}]
        for name in ("mttkrp", "mttkrp_two_steps")
    },
    **{
        ("separable_conv", f"separable_conv{form}"): each(CONV[:3], k=5)
        for form in ("", "_fused", "_f32", "_bf16")
    },
    ("transposed_conv", "transposed_conv"): each(TRANSPOSED, k=3),
    ("transposed_conv", "transposed_conv_padded"): each(TRANSPOSED[:2], k=3, pad=0)
    + each(TRANSPOSED[1:], k=3, pad=1),
    ("transposed_conv", "transposed_conv_gathered"): each(TRANSPOSED, k=3),
    **{("prefix_sum", name): [{"n": 1}, {"n": 37}] for name in ("prefix_sum", "prefix_sum_direct")},
    ("prefix_sum", "prefix_sum_rows"): ROWS,
    **{("reductions", name): ROWS for name in ("row_sum", "row_max", "mean", "variance")},
    ("softmax", "softmax"): ROWS,
    ("layer_norm", "layer_norm"): ROWS,
    ("attention", "attention"): [
        {"b": 1, "m": 1, "n": 1, "d": 1, "e": 1},
        {"b": 2, "m": 3, "n": 7, "d": 5, "e": 3},
    ],
    **{("pooling", name): POOL for name in ("max_pool", "max_pool_onto", "average_pool")},
    ("pooling", "global_average_pool"): [
        {"n": 1, "h": 1, "w": 1, "c": 1},
        {"n": 3, "h": 5, "w": 7, "c": 2},
    ],
    **{
        ("gemm_epilogue", f"gemm_requantise{form}"): [
            {"m": 1, "n": 1, "k": 1, "shift": 0},
            {"m": 5, "n": 3, "k": 7, "shift": 7},
        ]
        for form in ("", "_bias_first", "_steps")
    },
    ("wrapped", "gemm_relu_wrapped"): MATRIX,
    **{("wrapped", f"{form}_wrapped"): each(CONV, k=5) for form in ("conv2d", "separable_conv")},
    ("gemm_epilogue", "gemm_requantise_scaled"): MATRIX,
    **{
        ("conv2d_epilogue", f"conv2d_requantise{form}"): [
            *each(CONV[:1], k=1, shift=0),
            *each(CONV[1:3], k=5, shift=7),
        ]
        for form in ("", "_bias_first")
    },
    ("quantised", "gemm_zero_points"): MATRIX,
    ("quantised", "gemm_quantised"): [*MATRIX[:2], {**MATRIX[2], "shift": 7}],
    ("quantised", "conv2d_quantised"): [
        {"b": 1, "h": 1, "w": 1, "c": 1, "o": 1, "r": 1, "s": 1, "pad": 0},
        {"b": 2, "h": 7, "w": 5, "c": 3, "o": 5, "r": 3, "s": 2},
        {"b": 1, "h": 4, "w": 9, "c": 2, "o": 3, "r": 2, "s": 5, "pad": 4, "zero_x": 11},
    ],
    ("conv2d_epilogue", "conv2d_requantise_scaled"): [*each(CONV[:1], k=1), *each(CONV[1:3], k=5)],
    ("mlp", "mlp_scaled"): [
        {"n": 1, "c": 1, "first": 1, "second": 1, "k": 1},
        {"n": 3, "c": 7, "first": 5, "second": 11, "k": 2},
    ],
    ("mlp", "mlp"): [
        {"n": 1, "c": 1, "first": 1, "second": 1, "k": 1, "shift": 0},
        {"n": 3, "c": 7, "first": 5, "second": 11, "k": 2, "shift": 6},
    ],
    **{
        (file, f"{name}{form}"): STEPS
        for file, name in (("rnn", "rnn"), ("gru", "gru"), ("lstm", "lstm"))
        for form in ("", "_i8")
    },
    **{
        (file, f"{name}{form}"): without(STEPS, "inputs")
        for file, name in (("rnn", "rnn_relu_skip"), ("gru", "gru_skip"), ("lstm", "lstm_skip"))
        for form in ("", "_i8")
    },
    ("gru", "gru_skip_bf16"): without(STEPS, "inputs"),
}
