internal import HTTPDNSPrimitives
internal import HTTPTypes

extension TransferRequest {
    var hasBody: Bool {
        if case .none = body { false } else { true }
    }

    /// Whether its connection uses TLS, with the server or with a proxy.
    var isOverTLS: Bool { url.scheme == .https || passage?.proxy?.kind == .https }

    /// Whether libcurl will ask for body bytes: it does not for a body known to be empty.
    var hasBytesToSend: Bool {
        switch body {
        case .none: false
        case .bytes(let bytes): !bytes.isEmpty
        case .stream(let length, _): length != 0
        }
    }

    /// Whether a second sending is harmless (RFC 9110 section 9.2.1: safe methods), and the body is in memory.
    var mayBeSentTwice: Bool {
        !hasBody && (method == .get || method == .head || method == .options)
    }

    /// Whether two sendings may be in progress together: the method is safe (RFC 9110 section 9.2.1), and the body is in
    /// memory. Idempotent methods such as PUT are not sufficient: of two concurrent sendings the older one may be executed
    /// last, after a later request.
    var mayBeHedged: Bool {
        if case .stream = body { return false }
        return [.get, .head, .options, .trace].contains(method)
    }

    /// Whether its server expects a body, and must be informed when there is none (RFC 9110 section 8.6). Some respond with 411
    /// otherwise.
    var saysEmpty: Bool { !hasBody && (method == .post || method == .put || method == .patch) }
}

extension TransferLimits {
    /// Whether connecting, including the TLS handshake, may take longer than libcurl's own limit of 300 s.
    var mayConnectLongerThanLibcurl: Bool {
        guard let connect, let tls else { return true }
        return connect >= .seconds(150) || tls >= .seconds(150)
    }
}
