#if LocalProvider
/// The decoded parameters of a query, or of a form.
struct QueryParameters: Sendable {
    private(set) var pairs: [(name: String, value: String)] = []

    init(pairs: [(name: String, value: String)]) { self.pairs = pairs }

    /// - Parameter text: `name=value` pairs separated by `&`. `%` and two digits stand for one byte; `+` has no special
    ///   meaning.
    init(_ text: String) throws(Refusal) {
        for pair in text.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: true) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            pairs.append((name: try Self.decoded(parts[0]), value: parts.count == 2 ? try Self.decoded(parts[1]) : ""))
        }
    }

    /// The first of the parameters with a name.
    subscript(name: String) -> String? { pairs.first { $0.name == name }?.value }

    /// Refuses repeated parameters: a signature covers one of them, and servers differ in which one they read.
    func unique() throws(Refusal) -> QueryParameters {
        var seen: Set<String> = []
        for pair in pairs where !seen.insert(pair.name).inserted {
            throw Refusal(.missingArgument, "a parameter is there twice")
        }
        return self
    }

    /// Returns the value of a required parameter.
    func required(_ name: String) throws(Refusal) -> String {
        guard let value = self[name], !value.isEmpty else {
            throw Refusal(.missingArgument, "the parameter \(name) is missing")
        }
        return value
    }

    private static func decoded(_ text: Substring.UTF8View) throws(Refusal) -> String {
        var octets: [UInt8] = []
        var rest = text
        while let octet = rest.popFirst() {
            guard octet == UInt8(ascii: "%") else {
                octets.append(octet)
                continue
            }
            guard let first = rest.popFirst(), let second = rest.popFirst(),
                let value = Hexadecimal.octets(String(decoding: [first, second], as: UTF8.self))?.first
            else { throw Refusal(.missingArgument, "a percent sign is not followed by two hexadecimal digits") }
            octets.append(value)
        }
        guard let text = String(validating: octets, as: UTF8.self) else {
            throw Refusal(.missingArgument, "a parameter is not UTF-8")
        }
        return text
    }
}
#endif
