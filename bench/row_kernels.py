"""Kernels of rows beside the bundled ones that `cpu_rows` measures."""

from isamap.lang import In, Out, f32, grid, kernel, relu, tanh


@kernel
def gelu(m=16, n=64):
    """y = x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))."""
    x, y = In(f32, m, n), Out(f32, m, n)
    for i, j in grid(m, n):
        y[i, j] = (
            0.5
            * x[i, j]
            * (1.0 + tanh(0.7978845608 * (x[i, j] + 0.044715 * x[i, j] * x[i, j] * x[i, j])))
        )


@kernel
def relu_bias(m=16, n=64):
    """y = max(x + bias, 0)."""
    x, bias, y = In(f32, m, n), In(f32, n), Out(f32, m, n)
    for i, j in grid(m, n):
        y[i, j] = relu(x[i, j] + bias[j])
