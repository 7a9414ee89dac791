package import CurlTransport
internal import HTTPDNS

/// What holds for a host: its own, or everybody's. Its trust settings, or the way to the wire that has them.
struct TrustByHost<Value: Sendable>: Sendable {
    private let everybody: Value
    private var exact: [String: Value] = [:]
    private var suffixes: [Substring: Value] = [:]

    init(_ everybody: Value) { self.everybody = everybody }

    mutating func set(_ value: Value, for pattern: HostPattern) {
        switch pattern {
        case .exact(let name): exact[name.description] = value
        case .suffix(let name): suffixes[name.description[...]] = value
        // Refused before.
        case .any: break
        }
    }

    /// The exact name wins, then the longest suffix.
    func value(for host: ParsedURL.Host) -> Value {
        guard !(exact.isEmpty && suffixes.isEmpty), case .name(let name) = host else { return everybody }
        return value(for: name)
    }

    /// The same for a name, as URLs have it once they are in one spelling.
    func value(for name: String) -> Value {
        if let own = exact[name] { return own }
        var rest = name[...]
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
            if let own = suffixes[rest] { return own }
        }
        return everybody
    }
}

extension HTTPDNSClient.Configuration {
    /// Whom the client believes at a host: ``trustByHost``, or ``trust``.
    /// - Parameter name: The name that its certificate is for, in lower case.
    package func trust(for name: String) -> TrustSettings {
        var byHost = TrustByHost(trust)
        for (pattern, trust) in trustByHost { byHost.set(trust, for: pattern) }
        return byHost.value(for: name)
    }
}
