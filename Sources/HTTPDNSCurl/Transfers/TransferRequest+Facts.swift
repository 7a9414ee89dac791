internal import HTTPDNSPrimitives
internal import HTTPTypes

extension TransferRequest {
    var hasBody: Bool {
        if case .none = body { false } else { true }
    }

    /// Whether TLS is on its connection, with the server or with a proxy.
    var isOverTLS: Bool { url.scheme == .https || passage?.proxy?.kind == .https }

    /// Whether libcurl will ask for bytes: for a body known to be empty it does not.
    var hasBytesToSend: Bool {
        switch body {
        case .none: false
        case .bytes(let bytes): !bytes.isEmpty
        case .stream(let length, _): length != 0
        }
    }

    /// Whether a second sending does no harm (RFC 9110 section 9.2.1: safe methods), and the body is at hand.
    var mayBeSentTwice: Bool {
        !hasBody && (method == .get || method == .head || method == .options)
    }

    /// Whether it may be in flight twice: its method is safe (RFC 9110 section 9.2.1), and its body is at hand. Idempotent methods
    /// such as PUT are not enough: of two that are in flight together the older one may be executed last, after a later request.
    var mayBeHedged: Bool {
        if case .stream = body { return false }
        return [.get, .head, .options, .trace].contains(method)
    }

    /// Whether its server expects a body, and is to be told when there is none (RFC 9110 section 8.6). Some answer 411 else.
    var saysEmpty: Bool { !hasBody && (method == .post || method == .put || method == .patch) }
}

extension TransferLimits {
    /// Whether connecting, the TLS handshake included, may take longer than libcurl's own limit of 300 s.
    var mayConnectLongerThanLibcurl: Bool {
        guard let connect, let tls else { return true }
        return connect >= .seconds(150) || tls >= .seconds(150)
    }
}
