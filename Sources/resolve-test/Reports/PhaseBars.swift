/// The phases of a request one below the other; each bar begins at the end of the previous one.
struct PhaseBars {
    struct Phase {
        var name: String
        /// The duration; nil when the phase did not happen.
        var duration: Duration?
        var remark: String

        init(_ name: String, _ duration: Duration?, _ remark: String) {
            self.name = name
            self.duration = duration
            self.remark = remark
        }
    }

    /// The column of the phases' names.
    static let margin = 7
    /// The number of marks for the whole time: fewer if the remarks would not fit beside them.
    private static let barWidths = 10...20

    private let phases: [Phase]

    init(_ phases: [Phase]) { self.phases = phases }

    func text(_ screen: Screen) -> String {
        let times = phases.map { $0.duration.map { Figures.phase($0) } ?? "-" }
        let nameWidth = phases.map(\.name.count).max() ?? 0
        let timeWidth = times.map(\.count).max() ?? 0
        let textWidth = Self.margin + nameWidth + 2 + 1 + timeWidth + 3
        let remarkWidth = phases.map(\.remark.count).max() ?? 0
        let room = screen.width == .max ? .max : screen.width - textWidth - remarkWidth
        let barWidth = min(max(room, Self.barWidths.lowerBound), Self.barWidths.upperBound)
        return zip(phases, zip(bars(width: barWidth), times)).map { phase, drawn in
            let (bar, time) = drawn
            let lead = String(repeating: " ", count: Self.margin) + phase.name.padded(to: nameWidth) + "  "
            // Only the marks are colored, so that blanks count as blanks.
            let marks = bar.drop { $0 == " " }
            let blanks = String(bar.prefix(bar.count - marks.count))
            let painted =
                blanks + screen.style.bar(String(marks))
                + String(repeating: " ", count: barWidth - bar.count)
            let numbers = " " + time.paddedLeft(to: timeWidth)
            guard !phase.remark.isEmpty else { return (lead + painted + numbers).trimmingTrailingBlanks() + "\n" }
            let isNarrow = textWidth + barWidth + phase.remark.count > screen.width
            let separator = isNarrow ? "\n" + String(repeating: " ", count: Self.margin + nameWidth + 2) : "   "
            return lead + painted + numbers + separator + phase.remark + "\n"
        }.joined()
    }

    /// Returns the bars. Each phase that happened has at least one mark.
    private func bars(width: Int) -> [String] {
        let seconds = phases.map { max(0, ($0.duration ?? .zero) / .seconds(1)) }
        let whole = seconds.reduce(0, +)
        var elapsed = 0.0
        return zip(phases, seconds).map { phase, time in
            defer { elapsed += time }
            guard phase.duration != nil, whole > 0 else { return "" }
            let start = min(Int((elapsed / whole * Double(width)).rounded()), width - 1)
            let end = Int(((elapsed + time) / whole * Double(width)).rounded())
            let length = min(max(1, end - start), width - start)
            return String(repeating: " ", count: start) + String(repeating: "#", count: length)
        }
    }
}
