extension Duration {
    /// The readable duration, in the unit that keeps it short: `0.3 ms`, `8.1 ms`, `12 ms`, `1.5 s`, `41 s`, `10 min`.
    ///
    /// It is rounded to one decimal below 10 of a unit, and to whole numbers above.
    package var shortText: String {
        let nanoseconds = wholeNanoseconds
        if nanoseconds < 0 { return nanoseconds == .min ? "-292 years" : "-\((.zero - self).shortText)" }
        // Each limit is the value at which rounding would give 1 of the next unit.
        switch nanoseconds {
        case ..<999_500_000: return Duration.text(nanoseconds, of: 1_000_000, "ms")
        case ..<119_500_000_000: return Duration.text(nanoseconds, of: 1_000_000_000, "s")
        default: return Duration.text(nanoseconds, of: 60_000_000_000, "min")
        }
    }

    private static func text(_ nanoseconds: Int64, of unit: Int64, _ name: String) -> String {
        let tenth = unit / 10
        let tenths = nanoseconds / tenth + (nanoseconds % tenth >= tenth / 2 ? 1 : 0)
        if tenths < 100, tenths % 10 != 0 { return "\(tenths / 10).\(tenths % 10) \(name)" }
        return "\((tenths + 5) / 10) \(name)"
    }
}
