//! Dense Cholesky factors of a symmetric positive matrix, in place.

use super::real::Real;

/// Columns that are eliminated together.
const BLOCK: usize = 32;

/// The lower half of a symmetric matrix, row by row; after [`Matrix::factorise`] it holds the factor.
pub(super) struct Matrix<T> {
    size: usize,
    rows: Vec<T>,
}

impl<T: Real> Matrix<T> {
    pub fn zero(size: usize) -> Self {
        Self { size, rows: vec![T::zero(); size * size] }
    }

    pub fn clear(&mut self) {
        self.rows.fill(T::zero());
    }

    /// Adds to the entry of `row` and `column`, where `column` is at most `row`.
    pub fn add(&mut self, row: usize, column: usize, value: T) {
        self.rows[row * self.size + column] += value;
    }

    /// Replaces the matrix by its lower factor. Rows that depend on others drop out: their solution is 0.
    pub fn factorise(&mut self) {
        let n = self.size;
        let original: Vec<T> = (0..n).map(|i| self.rows[i * n + i]).collect();
        // The present columns as rows, so that the rows below are updated along contiguous memory.
        let mut columns = vec![T::zero(); BLOCK * n];
        for first in (0..n).step_by(BLOCK) {
            let last = (first + BLOCK).min(n);
            self.eliminate(first, last, &original[first..last]);
            for row in last..n {
                for k in first..last {
                    columns[(k - first) * n + row] = self.rows[row * n + k];
                }
            }
            for row in last..n {
                let (before, rest) = self.rows[row * n..=row * n + row].split_at_mut(last);
                for (at, group) in before[first..].chunks(4).enumerate() {
                    subtract(rest, group, &columns[at * 4 * n..], n, last);
                }
            }
        }
    }

    /// Factors the columns `first..last`, from which those to the left are already subtracted; `original` was their
    /// diagonal.
    fn eliminate(&mut self, first: usize, last: usize, original: &[T]) {
        let n = self.size;
        for (k, &original) in (first..last).zip(original) {
            let pivot = self.rows[k * n + k];
            let is_sound = pivot > T::from(T::ROUNDING) * original;
            let root = if is_sound { pivot.sqrt() } else { f64::INFINITY.into() };
            self.rows[k * n + k] = root;
            for row in k + 1..n {
                self.rows[row * n + k] /= root;
            }
            for row in k + 1..n {
                let factor = self.rows[row * n + k];
                for column in k + 1..last.min(row + 1) {
                    let product = factor * self.rows[column * n + k];
                    self.rows[row * n + column] -= product;
                }
            }
        }
    }

    /// Replaces the right side by the solution.
    pub fn solve(&self, right: &mut [T]) {
        let n = self.size;
        for row in 0..n {
            let known: T = self.rows[row * n..row * n + row].iter().zip(&*right).map(|(&a, &b)| a * b).sum();
            right[row] = (right[row] - known) / self.rows[row * n + row];
        }
        for row in (0..n).rev() {
            let value = right[row] / self.rows[row * n + row];
            right[row] = value;
            for (other, &factor) in right.iter_mut().zip(&self.rows[row * n..row * n + row]) {
                *other -= factor * value;
            }
        }
    }
}

/// `row -= sum of factors[i] * columns[i]`, from column `from` on.
fn subtract<T: Real>(row: &mut [T], factors: &[T], columns: &[T], stride: usize, from: usize) {
    let part = |i: usize| &columns[i * stride + from..i * stride + from + row.len()];
    if let [a, b, c, d] = *factors {
        let columns = part(0).iter().zip(part(1)).zip(part(2)).zip(part(3));
        for (value, (((&w, &x), &y), &z)) in row.iter_mut().zip(columns) {
            *value -= a * w + b * x + c * y + d * z;
        }
    } else {
        for (i, &factor) in factors.iter().enumerate() {
            let column = &columns[i * stride + from..i * stride + from + row.len()];
            row.iter_mut().zip(column).for_each(|(value, &other)| *value -= factor * other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_of_any_size_is_solved() {
        for size in [1, 2, 31, 32, 33, 70] {
            // 1 / (1 + |i - j|), plus 2 on the diagonal: dominant, hence positive.
            let entry = |i: usize, j: usize| 1.0 / (1.0 + i.abs_diff(j) as f64) + if i == j { 2.0 } else { 0.0 };
            let mut matrix = Matrix::zero(size);
            (0..size).for_each(|i| (0..=i).for_each(|j| matrix.add(i, j, entry(i, j))));
            let wanted: Vec<f64> = (0..size).map(|i| i as f64 - 3.0).collect();
            let mut right: Vec<f64> = (0..size).map(|i| (0..size).map(|j| entry(i, j) * wanted[j]).sum()).collect();
            matrix.factorise();
            matrix.solve(&mut right);
            assert!(right.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-12), "{size}: {right:?}");
        }
    }

    #[test]
    fn rows_that_say_the_same_twice_do_no_harm() {
        // x + y = 2 twice: the second drops out.
        let mut matrix = Matrix::zero(2);
        for (i, j) in [(0, 0), (1, 0), (1, 1)] {
            matrix.add(i, j, 1.0);
        }
        matrix.factorise();
        let mut right = [2.0, 2.0];
        matrix.solve(&mut right);
        assert!((right[0] - 2.0).abs() < 1e-12 && right[1].abs() < 1e-12, "{right:?}");
    }
}
