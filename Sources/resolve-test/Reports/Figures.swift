internal import HTTPDNS

/// Times and counts for display.
enum Figures {
    /// Returns a phase: `0.1 ms`, `61.9 ms`, `2.31 s`.
    static func phase(_ duration: Duration) -> String {
        let seconds = max(0, duration.inSeconds)
        return seconds < 0.99995 ? "\(fixed(seconds * 1000, places: 1)) ms" : "\(fixed(seconds, places: 2)) s"
    }

    /// Returns a lifetime: `0.4 s`, `41 s`, `12 min`, `3 h`.
    static func lifetime(_ duration: Duration) -> String {
        let seconds = max(0, duration.inSeconds)
        if seconds < 0.05 { return "0 s" }
        if seconds < 0.95 { return "\(fixed(seconds, places: 1)) s" }
        if seconds < 120 { return "\(Int(seconds.rounded())) s" }
        if seconds < 7200 { return "\(Int((seconds / 60).rounded())) min" }
        return "\(Int((seconds / 3600).rounded())) h"
    }

    /// Returns a whole number with commas between the thousands.
    static func count(_ number: Int) -> String {
        let digits = String(number.magnitude)
        let grouped = digits.enumerated().reduce(into: "") { text, digit in
            if digit.offset > 0, (digits.count - digit.offset).isMultiple(of: 3) { text.append(",") }
            text.append(digit.element)
        }
        return (number < 0 ? "-" : "") + grouped
    }

    static func bytes(_ number: Int) -> String { number == 1 ? "1 byte" : "\(count(number)) bytes" }

    /// Returns a number with exactly that many decimal places, without Foundation's formats because they follow the locale.
    static func fixed(_ value: Double, places: Int) -> String {
        let scale = (0..<places).reduce(1) { scale, _ in scale * 10 }
        let scaled = Int((min(max(value, -1e12), 1e12) * Double(scale)).rounded())
        let (whole, fraction) = scaled.magnitude.quotientAndRemainder(dividingBy: UInt(scale))
        let digits = String(fraction)
        let tail = places == 0 ? "" : "." + String(repeating: "0", count: places - digits.count) + digits
        return (scaled < 0 ? "-" : "") + String(whole) + tail
    }
}
