internal import HTTPDNSPrimitives

/// The body in memory that a call has compressed last, for all departures, retries and redirects that send it. It goes with
/// the call. Two hops at once compress twice.
final class CompressedOnce: Sendable {
    private struct Kept {
        let coding: HTTPDNSClient.ContentCoding
        /// Kept as well, so that nothing else can come to be in its place.
        let plain: [UInt8]
        let bytes: [UInt8]
    }

    private let kept = Lock<Kept?>(nil)

    /// What these very bytes were compressed to. Comparing others would cost as much as compressing some.
    func bytes(of plain: [UInt8], in coding: HTTPDNSClient.ContentCoding) -> [UInt8]? {
        guard let kept = kept.withLock({ $0 }), kept.coding == coding, Self.areInOnePlace(kept.plain, plain) else {
            return nil
        }
        return kept.bytes
    }

    func keep(_ bytes: [UInt8], of plain: [UInt8], in coding: HTTPDNSClient.ContentCoding) {
        kept.withLock { $0 = Kept(coding: coding, plain: plain, bytes: bytes) }
    }

    private static func areInOnePlace(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.withUnsafeBytes { one in
            other.withUnsafeBytes { one.baseAddress == $0.baseAddress && one.count == $0.count }
        }
    }
}
