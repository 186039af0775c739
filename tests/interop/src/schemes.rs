//! The concrete schemes: permutations, the three trees, the two layouts.

use p3_baby_bear::{
    Poseidon2BabyBear, default_babybear_poseidon2_16, default_babybear_poseidon2_24, default_babybear_poseidon2_32,
};
use p3_challenger::DuplexChallenger;
use p3_dft::Radix2DFTSmallBatch;
use p3_field::Field;
use p3_merkle_tree::MerkleTreeMmcs;
use p3_symmetric::{PaddingFreeSponge, TruncatedPermutation};

use crate::data::F;

pub type Packing = <F as Field>::Packing;
pub type Dft = Radix2DFTSmallBatch<F>;
pub type Challenger = DuplexChallenger<F, Poseidon2BabyBear<16>, 16, 8>;

type Sponge16 = PaddingFreeSponge<Poseidon2BabyBear<16>, 16, 8, 8>;
type Sponge24 = PaddingFreeSponge<Poseidon2BabyBear<24>, 24, 16, 8>;
type Compress2 = TruncatedPermutation<Poseidon2BabyBear<16>, 2, 8, 16>;
type Compress4 = TruncatedPermutation<Poseidon2BabyBear<32>, 4, 8, 32>;
type Tree<Leaf, Node, const ARITY: usize> = MerkleTreeMmcs<Packing, Packing, Leaf, Node, ARITY, 8>;

pub type TreeW16 = Tree<Sponge16, Compress2, 2>;
pub type TreeW24 = Tree<Sponge24, Compress2, 2>;
pub type TreeAry4 = Tree<Sponge16, Compress4, 4>;

/// A fresh transcript.
pub fn challenger() -> Challenger {
    Challenger::new(default_babybear_poseidon2_16())
}

pub fn tree_w16(cap: usize) -> TreeW16 {
    TreeW16::new(Sponge16::new(default_babybear_poseidon2_16()), Compress2::new(default_babybear_poseidon2_16()), cap)
}

pub fn tree_w24(cap: usize) -> TreeW24 {
    TreeW24::new(Sponge24::new(default_babybear_poseidon2_24()), Compress2::new(default_babybear_poseidon2_16()), cap)
}

pub fn tree_ary4(cap: usize) -> TreeAry4 {
    TreeAry4::new(Sponge16::new(default_babybear_poseidon2_16()), Compress4::new(default_babybear_poseidon2_32()), cap)
}
