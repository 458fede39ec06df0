//! Patterns of names, such as `h*`.

/// Whether `name` matches `pattern`, in which `*` stands for any text and `?` for any character.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (mut pattern, mut name) = (pattern.chars(), name.chars());
    // Position after the last `*`, and end of the text that it has matched so far.
    let mut star = None;
    while let Some(c) = name.clone().next() {
        let mut rest = pattern.clone();
        match rest.next() {
            Some('*') => {
                star = Some((rest.clone(), name.clone()));
                pattern = rest;
            }
            Some(p) if p == '?' || p == c => {
                name.next();
                pattern = rest;
            }
            _ => {
                let Some((behind, end)) = &mut star else { return false };
                end.next();
                (pattern, name) = (behind.clone(), end.clone());
            }
        }
    }
    pattern.all(|c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_or_not() {
        for (pattern, name, fits) in [
            ("h*", "h12", true),
            ("h*", "xh1", false),
            ("*", "", true),
            ("*.0", "h1.0", true),
            ("*.0*1", "a.0.02.01", true),
            ("h?", "h1", true),
            ("h?", "h12", false),
            ("", "h", false),
            ("*a*a*b", "aaaaaaab", true),
            ("s?.*", "s\u{e9}.x", true),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }
}
