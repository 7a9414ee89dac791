#if LocalProvider
internal import HTTPDNSConfiguration
internal import HTTPTypes

/// The injection of invalid content in place of a valid answer.
enum Garbage {
    private static let hugeOctets = 10_000_000
    private static let filling = [UInt8](repeating: UInt8(ascii: " "), count: hugeOctets)

    /// - Parameter isEncrypted: Whether the answer was encrypted: failures of its cipher are already applied.
    static func spoil(_ reply: inout ServedReply, _ garbage: ServeSettings.Garbage, isEncrypted: Bool) {
        switch garbage {
        case .html:
            reply = ServedReply(
                contentType: "text/html",
                body: Array("<!doctype html><title>Sign in</title><p>Please sign in to use this network.</p>".utf8)
            )
        case .noise:
            reply.body = (0..<max(64, reply.body.count)).map { _ in UInt8.random(in: .min ... .max) }
        case .huge:
            reply.body += filling.dropFirst(reply.body.count)
        case .half:
            reply.body.removeLast(reply.body.count / 2)
        case .cipher, .mode, .oddHex:
            if !isEncrypted { reply.body.removeLast(reply.body.count / 2) }
        }
    }
}
#endif
