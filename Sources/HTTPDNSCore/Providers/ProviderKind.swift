extension HTTPDNSProvider {
    /// What one-line texts call the protocol: `doh`, `json`, `alibaba`, `tencent`, or `provider` for one that is not the
    /// library's own.
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
