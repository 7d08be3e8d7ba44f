//! Unsigned 512-bit integers: products, and dividends before the division.
//!
//! The largest dividend, 65 digits times 10^60, takes 416 bits; a product of two decimals takes 432.

use arrow_buffer::i256;

/// An unsigned 512-bit integer: limbs of 64 bits, lowest first.
pub(super) type Wide = ruint::Uint<512, 8>;

/// Returns the magnitude of `v`.
pub(super) fn magnitude(v: i256) -> Wide {
    // For i256::MIN wrapping_abs leaves the bits of its magnitude as an unsigned number.
    let (low, high) = v.wrapping_abs().to_parts();
    let high = high as u128;
    Wide::from_limbs([low as u64, (low >> 64) as u64, high as u64, (high >> 64) as u64, 0, 0, 0, 0])
}

/// Converts back to 256 bits with a sign, if it fits.
pub(super) fn to_i256(v: Wide, negative: bool) -> Option<i256> {
    let l = v.as_limbs();
    if l[4..].iter().any(|&limb| limb != 0) || l[3] >> 63 != 0 {
        return None;
    }
    let pair = |low: u64, high: u64| (u128::from(high) << 64) | u128::from(low);
    let v = i256::from_parts(pair(l[0], l[1]), pair(l[2], l[3]) as i128);
    Some(if negative { v.wrapping_neg() } else { v })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_256_bits_comes_back_and_more_is_refused() {
        for v in [i256::ZERO, i256::ONE, i256::from_i128(i128::MIN), i256::MAX, i256::MIN + i256::ONE] {
            assert_eq!(to_i256(magnitude(v), v.is_negative()), Some(v));
        }
        let most = magnitude(i256::MIN);
        assert_eq!(to_i256(most, false), None, "2^255 is no i256");
        assert_eq!(most.bit_len(), 256);
        assert_eq!(most.checked_mul(most).map(|square| square.bit_len()), Some(511));
        assert_eq!(to_i256(most.wrapping_mul(most), true), None);
    }
}
