internal import HTTPDNSPrimitives
internal import HTTPTypes

/// What time a vendor's signatures go by: the machine's calendar, corrected by what the vendor's own clock said when it
/// refused a signature for its time.
final class ClockOffset: Sendable {
    /// Differences below this are no cause for a refusal: the signatures of all vendors live longer.
    private static let tolerance: Int64 = 5

    private let clock: WallClock
    private let offset = Lock<Int64>(0)

    init(_ clock: WallClock) { self.clock = clock }

    /// The vendor's time, as far as it is known, in seconds since 1970-01-01 00:00 UTC.
    func seconds() -> Int64 { clock.now() / 1000 + offset.withLock { $0 } }

    /// Takes the time of a refusal (`Date`, RFC 9110 section 6.6.1) for the vendor's.
    ///
    /// A clock that was wrong may be set right later, so that this offset may have to be learnt anew.
    /// - Parameter signedAt: The time that the refused request was signed for.
    /// - Returns: Whether a request that is signed now has another time than the refused one.
    func learn(from reply: ServiceReply, signedAt: Int64) -> Bool {
        guard let time = reply.headerFields[.date].flatMap(HTTPDate.seconds) else { return false }
        let difference = time - clock.now() / 1000
        offset.withLock { $0 = abs(difference) < Self.tolerance ? 0 : difference }
        return abs(seconds() - signedAt) >= Self.tolerance
    }
}
