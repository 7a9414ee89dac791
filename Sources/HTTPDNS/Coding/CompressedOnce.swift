internal import HTTPDNSPrimitives

/// The body in memory that a call has compressed last, for all attempts, retries and redirects that send it. It lives
/// as long as the call. Two concurrent hops compress twice.
final class CompressedOnce: Sendable {
    private struct Kept {
        let coding: HTTPDNSClient.ContentCoding
        /// Kept as well, so that its memory cannot be reused by other bytes.
        let plain: [UInt8]
        let bytes: [UInt8]
    }

    private let kept = Lock<Kept?>(nil)

    /// Returns the compressed form of exactly this array. Comparing contents would cost as much as compressing some.
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
