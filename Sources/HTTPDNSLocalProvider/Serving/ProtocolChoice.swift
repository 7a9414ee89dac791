#if LocalProvider
internal import HTTPTypes

/// The choice of a request's protocol by its path.
enum ProtocolChoice {
    /// Returns the protocol; nil for a path of no protocol.
    static func of(_ request: ServedRequest) -> (any ServedProtocol)? {
        let segments = request.segments
        switch (segments.first, segments.dropFirst().first, segments.count) {
        case ("dns-query"?, nil, _): return speaksJSON(request) ? JSONDNS(shape: .cloudflare) : WireDNS()
        case ("resolve"?, nil, _): return JSONDNS(shape: isSigned(request) ? .alidns : .google)
        case ("d"?, nil, _): return TencentServed()
        case ("conf"?, nil, _): return TencentListServed()
        case ("alidns"?, "resolve"?, 2): return JSONDNS(shape: .alidns)
        case ("v2"?, "d"?, 2): return AlibabaV2Served()
        case (let account?, "ss"?, 2): return AlibabaScheduleServed(account: String(account))
        case (let account?, let command?, 2): return AlibabaV1Served(account: account, command: command)
        default: return nil
        }
    }

    /// Returns whether a request is for JSON: Cloudflare serves both protocols under one path.
    private static func speaksJSON(_ request: ServedRequest) -> Bool {
        if request.method == .get, request.headerFields[.accept]?.contains("application/dns-json") == true {
            return true
        }
        return (try? QueryParameters(request.query))?["ct"] == "application/dns-json"
    }

    /// Returns whether a request is signed: Alidns' paid service has the path of the free one.
    private static func isSigned(_ request: ServedRequest) -> Bool {
        guard let parameters = try? QueryParameters(request.query) else { return false }
        return ["uid", "ak", "key", "ts"].contains { parameters[$0] != nil }
    }
}
#endif
