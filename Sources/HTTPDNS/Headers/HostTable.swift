internal import HTTPDNSCore
internal import HTTPDNSCurl

/// Values by host: the exact name wins, then the longest suffix.
struct HostTable<Value: Sendable>: Sendable {
    private var exact: [String: Value] = [:]
    private var suffixes: [Substring: Value] = [:]

    init() {}

    init(_ values: [HTTPDNSRoute.Pattern: Value]) {
        for (pattern, value) in values { self[pattern] = value }
    }

    subscript(pattern: HTTPDNSRoute.Pattern) -> Value? {
        get {
            switch pattern {
            case .exact(let name): exact[name.description]
            case .suffix(let name): suffixes[name.description[...]]
            case .any: nil
            }
        }
        set {
            switch pattern {
            case .exact(let name): exact[name.description] = newValue
            case .suffix(let name): suffixes[name.description[...]] = newValue
            // It matches no host: callers store the value for all hosts separately.
            case .any: break
            }
        }
    }

    /// Returns the value for a host; addresses have none.
    subscript(host: ParsedURL.Host) -> Value? {
        guard !(exact.isEmpty && suffixes.isEmpty), case .name(let name) = host else { return nil }
        if let own = exact[name] { return own }
        guard !suffixes.isEmpty else { return nil }
        var rest = name[...]
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
            if let own = suffixes[rest] { return own }
        }
        return nil
    }
}

extension HostTable: Equatable where Value: Equatable {}
extension HostTable: Hashable where Value: Hashable {}
