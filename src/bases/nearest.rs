//! Suggests a known name for an unknown one.

/// The known name nearest to `name`: equal but for case, else by edit distance.
pub fn nearest<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let folded = name.to_lowercase();
    let letters = folded.chars().count();
    // A name that differs in half of its letters is another name.
    let is_near = |distance: usize, of_known: usize| {
        distance == 0 || distance <= 1 + of_known / 4 && distance * 2 < of_known.min(letters)
    };
    let distance = |known: &str| {
        let known = known.to_lowercase();
        let of_known = known.chars().count();
        // The difference in length is a lower bound of the distance, and cheap for thousands of names.
        let distance = is_near(of_known.abs_diff(letters), of_known)
            .then(|| strsim::osa_distance(&folded, &known));
        distance.filter(|distance| is_near(*distance, of_known))
    };
    known
        .filter_map(|known| Some((distance(known)?, known)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}
