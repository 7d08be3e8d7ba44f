//! Unsigned 512-bit integers: products, and dividends before the division.
//!
//! The largest dividend, 65 digits times 10^60, takes 416 bits; a product of two decimals takes 432. Limbs are 64
//! bits, lowest first. Division is Knuth's algorithm D (The Art of Computer Programming, volume 2, 4.3.1).

use arrow_buffer::i256;

/// An unsigned 512-bit integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wide([u64; 8]);

fn low(v: u128) -> u64 {
    v as u64
}

fn high(v: u128) -> u64 {
    (v >> 64) as u64
}

impl Wide {
    /// Returns the magnitude of `v`.
    pub(super) fn magnitude(v: i256) -> Self {
        // For i256::MIN wrapping_abs leaves the bits of its magnitude as an unsigned number.
        let (lo, hi) = v.wrapping_abs().to_parts();
        let hi = hi as u128;
        Wide([low(lo), high(lo), low(hi), high(hi), 0, 0, 0, 0])
    }

    /// Converts back to 256 bits with a sign, if it fits.
    pub(super) fn to_i256(self, negative: bool) -> Option<i256> {
        let l = self.0;
        if l[4..].iter().any(|&limb| limb != 0) || l[3] >> 63 != 0 {
            return None;
        }
        let pair = |lo: u64, hi: u64| (u128::from(hi) << 64) | u128::from(lo);
        let v = i256::from_parts(pair(l[0], l[1]), pair(l[2], l[3]) as i128);
        Some(if negative { v.wrapping_neg() } else { v })
    }

    /// Returns the product if it fits.
    pub(super) fn checked_mul(self, other: Self) -> Option<Self> {
        let (n, m) = (self.len(), other.len());
        if n + m > 9 {
            return None;
        }
        let mut out = [0u64; 9];
        for i in 0..n {
            let mut carry = 0u128;
            for j in 0..m {
                let t = u128::from(self.0[i]) * u128::from(other.0[j]) + u128::from(out[i + j]) + carry;
                out[i + j] = low(t);
                carry = t >> 64;
            }
            out[i + m] = low(carry);
        }
        if out[8] != 0 {
            return None;
        }
        let mut limbs = [0; 8];
        limbs.copy_from_slice(&out[..8]);
        Some(Wide(limbs))
    }

    /// Returns quotient and remainder; the divisor must not be zero.
    pub(super) fn div_rem(self, divisor: Self) -> (Self, Self) {
        let n = divisor.len();
        debug_assert!(n > 0, "division by zero is the caller's to refuse");
        if n <= 1 {
            return self.div_rem_limb(divisor.0[0]);
        }
        let m = self.len();
        if m < n {
            return (Wide([0; 8]), self);
        }
        // Normalise: shift until the divisor's highest bit is set.
        let shift = divisor.0[n - 1].leading_zeros();
        let v = divisor.shl(shift).0;
        let mut u = [0u64; 9];
        u[..8].copy_from_slice(&self.shl(shift).0);
        if shift > 0 && m == 8 {
            u[8] = self.0[7] >> (64 - shift);
        }
        let mut quotient = [0u64; 8];
        for j in (0..=m - n).rev() {
            let digit = estimate([u[j + n], u[j + n - 1], u[j + n - 2]], v[n - 1], v[n - 2]);
            quotient[j] = subtract_multiple(&mut u[j..=j + n], &v[..n], digit);
        }
        let mut rest = [0u64; 8];
        rest[..n].copy_from_slice(&u[..n]);
        (Wide(quotient), Wide(rest).shr(shift))
    }

    /// Whether `part`, which is less than `self`, is half of it or more.
    pub(super) fn half_or_more(self, part: Self) -> bool {
        // `part` is less than a divisor of at most 65 + 30 digits, so it can be doubled.
        part.shl(1).0.iter().rev().ge(self.0.iter().rev())
    }

    fn div_rem_limb(self, divisor: u64) -> (Self, Self) {
        let mut quotient = [0; 8];
        let mut rest = 0u128;
        for i in (0..8).rev() {
            let t = (rest << 64) | u128::from(self.0[i]);
            quotient[i] = low(t / u128::from(divisor));
            rest = t % u128::from(divisor);
        }
        (Wide(quotient), Wide([low(rest), 0, 0, 0, 0, 0, 0, 0]))
    }

    /// Returns the number of limbs up to the highest that is not zero.
    fn len(self) -> usize {
        self.0.iter().rposition(|&limb| limb != 0).map_or(0, |i| i + 1)
    }

    /// Shifts left by fewer than 64 bits; bits shifted out are lost.
    fn shl(self, bits: u32) -> Self {
        if bits == 0 {
            return self;
        }
        let mut below = 0;
        Wide(self.0.map(|limb| (limb << bits) | (std::mem::replace(&mut below, limb) >> (64 - bits))))
    }

    /// Shifts right by fewer than 64 bits.
    fn shr(self, bits: u32) -> Self {
        if bits == 0 {
            return self;
        }
        let mut out = [0; 8];
        let mut above = 0;
        for (to, limb) in out.iter_mut().zip(self.0).rev() {
            *to = (limb >> bits) | (above << (64 - bits));
            above = limb;
        }
        Wide(out)
    }
}

/// Step D3: estimates the quotient digit from the dividend's three and the divisor's two highest limbs; the estimate
/// is at most one too large.
fn estimate(u: [u64; 3], v1: u64, v2: u64) -> u64 {
    let head = (u128::from(u[0]) << 64) | u128::from(u[1]);
    let mut digit = head / u128::from(v1);
    let mut rest = head % u128::from(v1);
    while high(digit) != 0 || digit * u128::from(v2) > ((rest << 64) | u128::from(u[2])) {
        digit -= 1;
        rest += u128::from(v1);
        if high(rest) != 0 {
            break;
        }
    }
    low(digit)
}

/// Steps D4 to D6: subtracts `v * digit` from `u`. If the result is negative, the digit was one too large, and is
/// corrected. Returns the digit.
fn subtract_multiple(u: &mut [u64], v: &[u64], digit: u64) -> u64 {
    let n = v.len();
    let (mut carry, mut borrow) = (0u128, false);
    for i in 0..n {
        let product = u128::from(v[i]) * u128::from(digit) + carry;
        carry = product >> 64;
        let (a, b1) = u[i].overflowing_sub(low(product));
        let (a, b2) = a.overflowing_sub(borrow.into());
        u[i] = a;
        borrow = b1 || b2;
    }
    let (a, b1) = u[n].overflowing_sub(low(carry));
    let (a, b2) = a.overflowing_sub(borrow.into());
    u[n] = a;
    if !(b1 || b2) {
        return digit;
    }
    let mut carry = false;
    for i in 0..n {
        let (a, c1) = u[i].overflowing_add(v[i]);
        let (a, c2) = a.overflowing_add(carry.into());
        u[i] = a;
        carry = c1 || c2;
    }
    u[n] = u[n].wrapping_add(carry.into());
    digit - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digit_correction_steps_are_taken() {
        // Knuth's rare case D6: the estimate is one too large although D3 found nothing wrong.
        let u = Wide([0, 0, 0x8000_0000_0000_0000, 0x7fff_ffff_ffff_ffff, 0, 0, 0, 0]);
        let v = Wide([1, 0, 0x8000_0000_0000_0000, 0, 0, 0, 0, 0]);
        let (q, r) = u.div_rem(v);
        assert_eq!(q, Wide([0xffff_ffff_ffff_fffe, 0, 0, 0, 0, 0, 0, 0]));
        // u = q * v + r
        let back = q.checked_mul(v).unwrap();
        let mut carry = false;
        let sum: Vec<u64> = back
            .0
            .iter()
            .zip(r.0)
            .map(|(a, b)| {
                let (sum, c1) = a.overflowing_add(b);
                let (sum, c2) = sum.overflowing_add(carry.into());
                carry = c1 || c2;
                sum
            })
            .collect();
        assert_eq!(sum, u.0);
    }

    #[test]
    fn a_product_beyond_512_bits_is_refused() {
        let big = Wide([0, 0, 0, 0, 1, 0, 0, 0]);
        assert!(big.checked_mul(big).is_none());
        assert!(big.checked_mul(Wide([0, 0, 0, 1, 0, 0, 0, 0])).is_some());
    }
}
