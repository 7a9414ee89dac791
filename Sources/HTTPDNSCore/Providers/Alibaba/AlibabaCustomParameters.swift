/// The validated inputs of custom resolution (`sdns-` parameters). They are sent unescaped: none of their characters has a
/// meaning in a URL or in JSON.
struct AlibabaCustomParameters: Sendable {
    static let prefix = "sdns-"
    /// The maximum number of bytes of all keys and values together. It is the limit of the vendor's Android client.
    static let maximumOctets = 1000

    /// The prefixed names and their values, sorted by the names' bytes.
    let sorted: [(name: String, value: String)]

    init(_ parameters: [String: String], provider: String) throws(HTTPDNSProviderConfigurationError) {
        func refusal(_ message: String) -> HTTPDNSProviderConfigurationError {
            HTTPDNSProviderConfigurationError(provider: provider, message: message)
        }
        for (key, value) in parameters.sorted(by: { $0.key < $1.key }) {
            guard !key.isEmpty, key.utf8.allSatisfy(Self.isWordOctet) else {
                throw refusal(
                    "the key of a custom parameter is empty, or has other characters than a-z, A-Z, 0-9, - and _"
                )
            }
            guard !key.hasPrefix(Self.prefix) else {
                throw refusal("the custom parameter \(key) has the prefix \(Self.prefix), which is added; leave it out")
            }
            guard !value.isEmpty, value.utf8.allSatisfy({ Self.isWordOctet($0) || $0 == UInt8(ascii: "=") }) else {
                throw refusal(
                    "the value of the custom parameter \(key) is empty, or has other characters than a-z, A-Z, 0-9, -, _ and ="
                )
            }
        }
        let octets = parameters.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        guard octets <= Self.maximumOctets else {
            throw refusal("its custom parameters have \(octets) octets; the vendor takes \(Self.maximumOctets) at most")
        }
        sorted = parameters.map { (name: Self.prefix + $0.key, value: $0.value) }
            .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    private static func isWordOctet(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
