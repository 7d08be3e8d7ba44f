//! Appends short byte strings quickly.

/// Appends `bytes`; up to 16 bytes, the length of most keys and many strings, without a call of memcpy.
#[inline]
pub fn extend_short(to: &mut Vec<u8>, bytes: &[u8]) {
    /// Copies two pieces of N bytes, which overlap.
    #[inline]
    fn pieces<const N: usize>(to: &mut Vec<u8>, bytes: &[u8]) -> Option<()> {
        let (first, last) = (bytes.first_chunk::<N>()?, bytes.last_chunk::<N>()?);
        let begin = to.len();
        to.extend_from_slice(first);
        to.truncate(begin + bytes.len() - N);
        to.extend_from_slice(last);
        Some(())
    }
    let done = match bytes {
        [] => Some(()),
        [byte] => {
            to.push(*byte);
            Some(())
        }
        _ => match bytes.len() {
            2..=4 => pieces::<2>(to, bytes),
            5..=8 => pieces::<4>(to, bytes),
            9..=16 => pieces::<8>(to, bytes),
            _ => None,
        },
    };
    if done.is_none() {
        to.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_length_is_copied() {
        let bytes: Vec<u8> = (0..40).collect();
        for len in 0..bytes.len() {
            let mut to = vec![7];
            super::extend_short(&mut to, &bytes[..len]);
            assert_eq!(to[1..], bytes[..len]);
            assert_eq!(to[0], 7);
        }
    }
}
