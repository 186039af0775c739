"""Elementwise arithmetic of BabyBear on Montgomery words of one shape."""

from ...field.numpy_field import add as field_add
from ...field.numpy_field import inverse as field_inverse
from ...field.numpy_field import mont_mul as field_mul
from ...field.numpy_field import sub as field_sub

__all__ = ["field_add", "field_inverse", "field_mul", "field_sub"]
