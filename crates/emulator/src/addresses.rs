//! The addresses of paths: path number p begins at 10.x.y.1 and ends at 10.x.y.2, where p = 256 x + y.

use std::net::Ipv4Addr;

/// Greatest number of paths that have addresses.
pub const MOST_PATHS: usize = 1 << 16;

/// The addresses of the beginning and the end of a path.
///
/// # Panics
/// If `path` is too great for an address.
pub fn addresses(path: usize) -> (Ipv4Addr, Ipv4Addr) {
    assert!(path < MOST_PATHS, "paths are counted when a lab starts");
    let (x, y) = ((path >> 8) as u8, path as u8);
    (Ipv4Addr::new(10, x, y, 1), Ipv4Addr::new(10, x, y, 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_has_a_net_of_its_own() {
        assert_eq!(addresses(0), (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)));
        // 65,535 = 256 * 255 + 255.
        assert_eq!(addresses(MOST_PATHS - 1).1, Ipv4Addr::new(10, 255, 255, 2));
    }
}
