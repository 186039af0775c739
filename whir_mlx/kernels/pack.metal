// out = x0, x1, ... one after the other, each as it is or from Montgomery to canonical words.
// size: per array k = 0..25 its first word in out, its words (at least 1), and whether it is converted. x0 .. x25: the arrays (any
// array past the last one). out: (N,). Grid: (words of the longest array, arrays) threads.
#include "field.h"

#define PACK_MOST 26
#define PACK_ARRAY(number) \
  if (k == number) value = x##number[at];

kernel void pack(
    const constant uint* size [[buffer(0)]],
    const device uint* x0 [[buffer(1)]],
    const device uint* x1 [[buffer(2)]],
    const device uint* x2 [[buffer(3)]],
    const device uint* x3 [[buffer(4)]],
    const device uint* x4 [[buffer(5)]],
    const device uint* x5 [[buffer(6)]],
    const device uint* x6 [[buffer(7)]],
    const device uint* x7 [[buffer(8)]],
    const device uint* x8 [[buffer(9)]],
    const device uint* x9 [[buffer(10)]],
    const device uint* x10 [[buffer(11)]],
    const device uint* x11 [[buffer(12)]],
    const device uint* x12 [[buffer(13)]],
    const device uint* x13 [[buffer(14)]],
    const device uint* x14 [[buffer(15)]],
    const device uint* x15 [[buffer(16)]],
    const device uint* x16 [[buffer(17)]],
    const device uint* x17 [[buffer(18)]],
    const device uint* x18 [[buffer(19)]],
    const device uint* x19 [[buffer(20)]],
    const device uint* x20 [[buffer(21)]],
    const device uint* x21 [[buffer(22)]],
    const device uint* x22 [[buffer(23)]],
    const device uint* x23 [[buffer(24)]],
    const device uint* x24 [[buffer(25)]],
    const device uint* x25 [[buffer(26)]],
    device uint* out [[buffer(27)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  uint i = thread_position_in_grid.x;
  int k = int(thread_position_in_grid.y);
  uint length = uint(size[PACK_MOST + k]);
  uint at = min(i, length - 1u);
  uint value = uint(0);
  PACK_ARRAY(0)
  PACK_ARRAY(1)
  PACK_ARRAY(2)
  PACK_ARRAY(3)
  PACK_ARRAY(4)
  PACK_ARRAY(5)
  PACK_ARRAY(6)
  PACK_ARRAY(7)
  PACK_ARRAY(8)
  PACK_ARRAY(9)
  PACK_ARRAY(10)
  PACK_ARRAY(11)
  PACK_ARRAY(12)
  PACK_ARRAY(13)
  PACK_ARRAY(14)
  PACK_ARRAY(15)
  PACK_ARRAY(16)
  PACK_ARRAY(17)
  PACK_ARRAY(18)
  PACK_ARRAY(19)
  PACK_ARRAY(20)
  PACK_ARRAY(21)
  PACK_ARRAY(22)
  PACK_ARRAY(23)
  PACK_ARRAY(24)
  PACK_ARRAY(25)
  if (int(size[2 * PACK_MOST + k]) != 0) value = field_mul(value, uint(1));
  STORE_IF(i < length, out, i + uint(size[k]), value);
}
