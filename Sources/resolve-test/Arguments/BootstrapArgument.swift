internal import HTTPDNS

/// The value of `--bootstrap`: addresses of the host in a `--doh` URL.
struct BootstrapArgument: Sendable {
    let host: HTTPDNSName
    let addresses: [HTTPDNSAddress]

    init(_ text: String) throws(CommandFailure) {
        let form = "write --bootstrap HOST=ADDRESS, such as --bootstrap doh.example=192.0.2.53"
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[1].isEmpty else {
            throw .usage("--bootstrap \"\(text)\" is not a host and its address", hint: form)
        }
        do {
            host = try HTTPDNSName(String(parts[0]))
        } catch {
            throw .usage("--bootstrap \"\(text)\": \(error)", hint: form)
        }
        var addresses: [HTTPDNSAddress] = []
        for part in parts[1].split(separator: ",", omittingEmptySubsequences: false) {
            let literal = part.hasPrefix("[") && part.hasSuffix("]") ? part.dropFirst().dropLast() : part
            guard let address = HTTPDNSAddress(String(literal)) else {
                throw .usage("--bootstrap \"\(text)\": \"\(part)\" is not an IPv4 or IPv6 address", hint: form)
            }
            addresses.append(address)
        }
        self.addresses = addresses
    }
}
