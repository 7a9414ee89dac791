internal import CurlTransport
internal import HTTPDNS

/// Which of a client's ways to the wire a host's requests take: those of its own trust settings, or everybody's.
struct TrustByHost: Sendable {
    private let everybody: TrustedTransport
    private var exact: [String: TrustedTransport] = [:]
    private var suffixes: [Substring: TrustedTransport] = [:]

    init(_ everybody: TrustedTransport) { self.everybody = everybody }

    mutating func set(_ transport: TrustedTransport, for pattern: HostPattern) {
        switch pattern {
        case .exact(let name): exact[name.description] = transport
        case .suffix(let name): suffixes[name.description[...]] = transport
        // Refused before.
        case .any: break
        }
    }

    /// The exact name wins, then the longest suffix.
    func transport(for host: ParsedURL.Host) -> TrustedTransport {
        guard !(exact.isEmpty && suffixes.isEmpty), case .name(let name) = host else { return everybody }
        if let own = exact[name] { return own }
        var rest = name[...]
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
            if let own = suffixes[rest] { return own }
        }
        return everybody
    }
}
