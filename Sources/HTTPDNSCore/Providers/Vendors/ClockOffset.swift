internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The clock for a vendor's signatures: the machine's calendar clock, corrected by the vendor's clock after it rejected a
/// signature because of its time.
final class ClockOffset: Sendable {
    /// The largest difference, in seconds, that is ignored: the signatures of all vendors live longer.
    private static let tolerance: Int64 = 5

    private let clock: WallClock
    private let offset = Lock<Int64>(0)

    init(_ clock: WallClock) { self.clock = clock }

    /// Returns the vendor's time as far as it is known, in seconds since 1970-01-01 00:00 UTC.
    func seconds() -> Int64 { clock.now() / 1000 + offset.withLock { $0 } }

    /// Takes the time of a refusal (`Date`, RFC 9110 section 6.6.1) as the vendor's time.
    ///
    /// A wrong clock of the machine may be set right later. The offset is then learned again.
    /// - Parameter signedAt: The time in the signature of the refused request.
    /// - Returns: Whether a request signed now has another time than the refused one.
    func learn(from reply: UpstreamReply, signedAt: Int64) -> Bool {
        guard let time = reply.headerFields[.date].flatMap(HTTPDate.seconds) else { return false }
        let difference = time - clock.now() / 1000
        offset.withLock { $0 = abs(difference) < Self.tolerance ? 0 : difference }
        return abs(seconds() - signedAt) >= Self.tolerance
    }
}
