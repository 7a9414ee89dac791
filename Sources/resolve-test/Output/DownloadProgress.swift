/// The progress of a long download, on a terminal only.
struct DownloadProgress {
    private let stream: StandardStream?
    private let start = ContinuousClock.now
    private var last: ContinuousClock.Instant?
    private let expected: Int?

    /// - Parameter expected: The length that the server announced.
    init(on stream: StandardStream, expected: Int?, isWanted: Bool) {
        self.stream = isWanted ? stream : nil
        self.expected = expected
    }

    /// Updates the line: none for a short response, ten times a second for a long one.
    mutating func update(received: Int) {
        guard let stream else { return }
        let now = ContinuousClock.now
        guard start.duration(to: now) > .seconds(1), last.map({ $0.duration(to: now) > .milliseconds(100) }) ?? true
        else {
            return
        }
        last = now
        let seconds = start.duration(to: now) / .seconds(1)
        stream.say("\r\u{1B}[K" + Self.text(received: received, expected: expected, seconds: seconds))
    }

    /// Removes the line.
    func finish() {
        guard let stream, last != nil else { return }
        stream.say("\r\u{1B}[K")
    }

    static func text(received: Int, expected: Int?, seconds: Double) -> String {
        let share = expected.flatMap { $0 > 0 ? " (\(min(100, received * 100 / $0)) %)" : nil } ?? ""
        let rate = seconds > 0 ? Double(received) / seconds : 0
        return "       \(Figures.bytes(received))\(share)  \(Figures.fixed(rate / 1_048_576, places: 1)) MiB/s"
    }
}
