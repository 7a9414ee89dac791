internal import HTTPDNS

/// The value of `--map`: a rule of the mappings.
struct MapArgument: Sendable {
    /// The location of such a rule.
    static let location = HTTPDNSSourceLocation(file: "--map")

    let key: HTTPDNSMapping.Key
    let mapping: HTTPDNSMapping

    init(_ text: String) throws(CommandFailure) {
        let form = "write --map HOST[:PORT]=ADDRESS[,ADDRESS], such as --map img.shop.example=203.0.113.7"
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else {
            throw .usage("--map \"\(text)\" is not a host and its addresses", hint: form)
        }
        let addresses = parts[1].split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        do {
            key = try HTTPDNSMapping.Key(String(parts[0]))
            var rule = HTTPDNSMapping.addresses(addresses)
            rule.location = Self.location
            mapping = rule
            _ = try HTTPDNSMappings([key: rule])
        } catch {
            throw .usage("--map \"\(text)\": \(error.reason)", hint: form)
        }
    }

    /// Returns the rules, with those of the flags replacing others. A flag without a port applies to every port of its name.
    static func apply(
        _ texts: [String],
        to rules: [HTTPDNSMapping.Key: HTTPDNSMapping]
    ) throws(CommandFailure) -> [HTTPDNSMapping.Key: HTTPDNSMapping] {
        var given: [HTTPDNSMapping.Key: HTTPDNSMapping] = [:]
        for text in texts {
            let argument = try MapArgument(text)
            guard given.updateValue(argument.mapping, forKey: argument.key) == nil else {
                throw .usage("--map names \(argument.key) twice", hint: "list its addresses with commas in one --map")
            }
        }
        let overridden = Set(given.keys.filter { $0.port == nil }.map(\.pattern))
        return rules.filter { !overridden.contains($0.key.pattern) }.merging(given) { _, flag in flag }
    }
}
