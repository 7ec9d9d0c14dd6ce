//! False discoveries under control: p-values corrected for having looked in many places.

/// The Benjamini-Hochberg adjusted p-values, in the order given: calling everything below `q` a discovery keeps the
/// expected share of false ones below `q`.
pub fn adjusted(p_values: &[f64]) -> Vec<f64> {
    let count = p_values.len();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]).then(a.cmp(b)));
    let mut adjusted = vec![1.0; count];
    let mut least: f64 = 1.0;
    for (rank, row) in order.into_iter().enumerate().rev() {
        least = least.min(p_values[row] * count as f64 / (rank + 1) as f64);
        adjusted[row] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_textbook_example() {
        let adjusted = adjusted(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.02, 0.04, 0.04, 0.02];
        for (value, expected) in adjusted.iter().zip(expected) {
            assert!((value - expected).abs() < 1e-12, "{adjusted:?}");
        }
    }
}
