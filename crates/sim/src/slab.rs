//! A store for items that come and go, each at an index that stays the same while the item is there.

/// A store that reuses the places of items that are gone.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { items: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Adds an item; gives its index.
    #[inline]
    pub fn insert(&mut self, item: T) -> u32 {
        if let Some(index) = self.free.pop() {
            self.items[index as usize] = item;
            index
        } else {
            self.items.push(item);
            u32::try_from(self.items.len() - 1).expect("fewer than 2^32 packets under way")
        }
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }
}

impl<T: Copy> Slab<T> {
    /// Copies the item at `index` out, and frees its place.
    #[inline]
    pub fn remove(&mut self, index: u32) -> T {
        self.free.push(index);
        self.items[index as usize]
    }
}

impl<T: Default> Slab<T> {
    /// Moves the item at `index` out, and frees its place. The default stands there until the place is used again.
    #[inline]
    pub fn take(&mut self, index: u32) -> T {
        self.free.push(index);
        std::mem::take(&mut self.items[index as usize])
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: u32) -> &T {
        &self.items[index as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.items[index as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again() {
        let mut slab = Slab::default();
        let (a, b) = (slab.insert('a'), slab.insert('b'));
        assert_eq!(slab.remove(a), 'a');
        assert_eq!((slab.insert('c'), slab[b], slab.len()), (a, 'b', 2));
    }

    #[test]
    fn what_is_taken_out_is_not_there_any_more() {
        let mut slab = Slab::default();
        let a = slab.insert(vec![1, 2, 3]);
        let place = slab[a].as_ptr();
        let taken = slab.take(a);
        // The same numbers in the same memory, and none stay behind.
        assert_eq!((taken.as_ptr(), slab.len()), (place, 0));
        assert!(slab.items[a as usize].is_empty());
        assert_eq!(slab.insert(vec![4]), a);
    }
}
