extension HTTPDNSProvider {
    /// The name of the protocol in one-line texts: `doh`, `json`, `alibaba`, `tencent`, or `provider` for a custom provider.
    package var kind: String {
        switch self {
        case is HTTPDNSDoHProvider: "doh"
        case is HTTPDNSJSONProvider: "json"
        case is AlibabaProvider: "alibaba"
        case is TencentProvider: "tencent"
        default: "provider"
        }
    }
}
