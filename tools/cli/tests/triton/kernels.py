# The kernels whose PTX lies beside this file, for the tests of `baton check`:
#
#     pip install triton==3.9.0
#     TRITON_DISABLE_LINE_INFO=1 python kernels.py
#
# No GPU is needed to compile them.

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def softmax(out, x, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    value = tl.load(x + row * stride + column, mask=column < n, other=-float("inf"))
    power = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * stride + column, power / tl.sum(power, axis=0), mask=column < n)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    step = tl.arange(0, BK)
    sum = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        left = tl.load(a + row[:, None] * K + (k + step)[None, :])
        right = tl.load(b + (k + step)[:, None] * N + column[None, :])
        sum = tl.dot(left, right, sum)
    tl.store(c + row[:, None] * N + column[None, :], sum)


@triton.jit
def matmul_tma(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ROLES: tl.constexpr):
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    sum = tl.zeros((BM, BN), dtype=tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=ROLES):
        sum = tl.dot(a.load([row, k]), b.load([k, column]), sum)
    c.store([row, column], sum)


def write(file, kernel, target, parameters, constants, divisible=()):
    signature = {**parameters, **{name: "constexpr" for name in constants}}
    names = list(signature)
    attributes = {(names.index(name),): [["tt.divisibility", 16]] for name in divisible}
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=attributes)
    options = {"num_warps": 4, "num_stages": 3}
    compiled = triton.compile(source, target=GPUTarget("cuda", target, 32), options=options)
    with open(file, "w") as ptx:
        ptx.write(compiled.asm["ptx"])


SIZES = {"M": "i32", "N": "i32", "K": "i32"}
ARRAYS = {"a": "*fp16", "b": "*fp16", "c": "*fp32", **SIZES}
TILES = {
    "a": "tensordesc<fp16[128,64]>",
    "b": "tensordesc<fp16[64,64]>",
    "c": "tensordesc<fp32[128,64]>",
    **SIZES,
}
TILE = {"BM": 128, "BN": 64, "BK": 64}
ROW = {"out": "*fp32", "x": "*fp32", "stride": "i32", "n": "i32"}

write("softmax.ptx", softmax, 90, ROW, {"BLOCK": 512})
write("matmul_sm90.ptx", matmul, 90, ARRAYS, TILE, list(ARRAYS))
write("matmul_tma_sm100.ptx", matmul_tma, 100, TILES, {**TILE, "ROLES": False}, list(SIZES))
write("matmul_ws_sm100.ptx", matmul_tma, 100, TILES, {**TILE, "ROLES": True}, list(SIZES))
