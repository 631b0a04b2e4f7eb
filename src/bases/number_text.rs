//! Numbers as JavaScript writes and reads them.

/// The number as `Number.prototype.toString` writes it: the shortest digits that give it back.
pub fn written(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    if number == number.trunc() && number.abs() < 1e15 {
        // Also -0, which JavaScript writes as 0.
        return (number as i64).to_string();
    }
    let sign = if number < 0.0 { "-" } else { "" };
    let scientific = format!("{:e}", number.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits = mantissa.replace('.', "");
    let count = digits.len() as i32;
    // The number of digits before the decimal point.
    let point = exponent.parse::<i32>().unwrap_or(0) + 1;
    let zeros = |count: i32| "0".repeat(count.max(0) as usize);
    if count <= point && point <= 21 {
        format!("{sign}{digits}{}", zeros(point - count))
    } else if 0 < point && point <= 21 {
        let (whole, fraction) = digits.split_at(point as usize);
        format!("{sign}{whole}.{fraction}")
    } else if -6 < point && point <= 0 {
        format!("{sign}0.{}{digits}", zeros(-point))
    } else {
        let (first, rest) = digits.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        format!("{sign}{first}{dot}{rest}e{:+}", point - 1)
    }
}

/// The number as `toFixed` writes it: exact halves round away from zero. `places` is at most 100.
pub fn fixed(number: f64, places: usize) -> String {
    if !number.is_finite() || number.abs() >= 1e21 {
        return written(number);
    }
    let sign = if number < 0.0 { "-" } else { "" };
    let size = number.abs();
    let longer = format!("{size:.*}", places + 1);
    if longer.ends_with('5') {
        // The exact decimal expansion of a number has at most 1,074 places.
        let exact = format!("{size:.1080}");
        let cut = longer.len();
        if exact.starts_with(&longer) && exact[cut..].bytes().all(|digit| digit == b'0') {
            return format!("{sign}{}", rounded_up(&longer[..cut - 1], places));
        }
    }
    format!("{sign}{size:.places$}")
}

/// Rounds a string of decimal digits up at its end.
fn rounded_up(digits: &str, places: usize) -> String {
    let mut bytes: Vec<u8> = digits.trim_end_matches('.').bytes().collect();
    let mut carried = true;
    for byte in bytes.iter_mut().rev().filter(|byte| **byte != b'.') {
        if *byte == b'9' {
            *byte = b'0';
        } else {
            *byte += 1;
            carried = false;
            break;
        }
    }
    if carried {
        bytes.insert(0, b'1');
    }
    debug_assert!(places == 0 || bytes.contains(&b'.'));
    String::from_utf8(bytes).unwrap_or_default()
}

/// The number that a text writes, white space around it ignored: digits, fraction, exponent, sign, `Infinity`.
pub fn read(text: &str) -> Option<f64> {
    let text = text.trim();
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_decimal = unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && unsigned
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    if is_decimal || unsigned == "Infinity" { text.parse().ok() } else { None }
}

/// Rounds to a whole number, halves up, as `Math.round`.
pub fn rounded(number: f64) -> f64 {
    let below = number.floor();
    if number - below >= 0.5 { below + 1.0 } else { below }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_javascript_writes_it() {
        for (number, text) in [
            (0.1 + 0.2, "0.30000000000000004"),
            (-0.0, "0"),
            (1e21, "1e+21"),
            (1e20, "100000000000000000000"),
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (1.5e300, "1.5e+300"),
            (1e-7, "1e-7"),
            (1.25e-7, "1.25e-7"),
            (0.000_001, "0.000001"),
            (-12.5, "-12.5"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (9_007_199_254_740_993.0, "9007199254740992"),
        ] {
            assert_eq!(written(number), text);
        }
    }

    #[test]
    fn fixed_as_javascript() {
        for (number, places, text) in [
            (2.5, 0, "3"),
            (-2.5, 0, "-3"),
            (1.5, 0, "2"),
            (9.5, 0, "10"),
            (1.005, 2, "1.00"),
            (0.125, 2, "0.13"),
            (99.995, 2, "100.00"),
            (-0.001, 2, "-0.00"),
            (0.0, 2, "0.00"),
            (1e21, 2, "1e+21"),
            (f64::NAN, 2, "NaN"),
            (2.71959, 2, "2.72"),
        ] {
            assert_eq!(fixed(number, places), text, "{number}");
        }
    }

    #[test]
    fn read_and_rounded() {
        assert_eq!(read(" 3.4 "), Some(3.4));
        assert_eq!(read("-1e3"), Some(-1000.0));
        assert_eq!(read(".5"), Some(0.5));
        for text in ["", "nan", "inf", "0x10", "1 2", "12px", "2026-01-01"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(rounded(-2.5), -2.0);
        assert_eq!(rounded(0.499_999_999_999_999_94), 0.0);
    }
}
