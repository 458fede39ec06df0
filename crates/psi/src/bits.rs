//! The bits of link identities and filters.

/// Greatest number of bits of an identity or a filter.
pub const MOST_BITS: u32 = 256;

/// A set of bits, numbered from 0 to 255.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bits([u64; 4]);

impl Bits {
    /// Sets a bit; its number must be under [`MOST_BITS`].
    pub(crate) fn set(&mut self, bit: u32) {
        self.0[bit as usize / 64] |= 1 << (bit % 64);
    }

    /// Sets all bits of `other` too.
    pub fn add(&mut self, other: &Self) {
        for (word, more) in self.0.iter_mut().zip(other.0) {
            *word |= more;
        }
    }

    /// Whether all bits of `other` are set.
    pub fn contains(&self, other: &Self) -> bool {
        self.0.iter().zip(other.0).all(|(word, wanted)| word & wanted == wanted)
    }

    /// The bits in hexadecimal digits, the first of which has the four bits with the highest numbers.
    pub fn hex(&self) -> String {
        let [first, second, third, last] = self.0;
        format!("{last:016x}{third:016x}{second:016x}{first:016x}")
    }

    /// Number of bits that are set.
    pub fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_in_the_order_of_numbers() {
        let mut bits = Bits::default();
        bits.set(0);
        bits.set(68);
        bits.set(255);
        assert_eq!(bits.hex(), format!("8{}10{}1", "0".repeat(45), "0".repeat(15)));
    }

    #[test]
    fn bits_of_all_words_count() {
        let mut some = Bits::default();
        for bit in [0, 63, 64, 255, 255] {
            some.set(bit);
        }
        let mut one = Bits::default();
        one.set(64);
        assert_eq!((some.count(), one.count()), (4, 1));
        assert!(some.contains(&one) && !one.contains(&some));
        one.set(1);
        assert!(!some.contains(&one));
        one.add(&some);
        assert!(one.contains(&some) && one.count() == 5);
    }
}
