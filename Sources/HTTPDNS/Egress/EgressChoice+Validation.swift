internal import HTTPDNSCurl

extension HTTPDNSClient.Configuration {
    /// Linux has 16 bytes for the name of an interface, including the terminating NUL (IFNAMSIZ).
    private static let longestInterfaceName = 15

    /// - Throws: ``HTTPDNSClientError`` with code `configuration`.
    func validateWaysOut() throws(HTTPDNSClientError) {
        try proxy.validate(environment)
        if let unixSocket, let fault = UnixSocketPath.fault(in: unixSocket) { throw .configuration(fault) }
        guard unixSocket == nil || proxy == .direct else {
            throw .configuration(
                "unixSocket and proxy are both set, and nothing goes through a proxy to a Unix socket",
                hint: "set one of them; options.unixSocket is for single requests"
            )
        }
        if case .interface(let name) = localSource {
            let isName = !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "/") }
            guard isName, name.utf8.count <= HTTPDNSClient.Configuration.longestInterfaceName else {
                throw .configuration("localSource: \"\(name.escaped(limit: 40))\" is no name of a network interface")
            }
        }
    }
}
