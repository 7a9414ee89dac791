internal import CurlTransport
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// A DoH service whose settings are in order: where it is, and how a question becomes a request to it.
struct DoHService {
    /// The media type of RFC 8484 section 6.
    static let mediaType = "application/dns-message"

    /// Where to connect, in the order to try; at least one.
    let endpoints: [Endpoint]
    /// See ``DoHProvider/serviceScope``.
    let scope: AddressScope
    private let url: ParsedURL
    private let method: DoHProvider.Method

    init(_ configuration: DoHProvider.Configuration) throws(ProviderConfigurationError) {
        func refusal(_ message: String) -> ProviderConfigurationError {
            ProviderConfigurationError(provider: configuration.name, message: message)
        }
        let text: String
        switch Self.withoutTemplate(configuration.url) {
        case .some(let address): text = address
        case .none:
            throw refusal("the only template that a DoH url may have is {?dns} at its end (RFC 8484 section 4.1)")
        }
        do throws(URLFailure) {
            url = try ParsedURL(text)
        } catch {
            throw refusal("its url cannot be used: \(error)")
        }
        guard url.credential == nil else {
            throw refusal("its url has a user name or password in it, which DoH has no use for; remove it")
        }
        guard url.fragment == nil else {
            throw refusal("its url has a fragment, which is never sent; remove the # and what follows")
        }
        endpoints = Self.endpoints(of: url, bootstrap: configuration.bootstrap)
        guard let scope = Self.scope(of: endpoints) else {
            throw refusal(
                "its url has the name \(url.hostText), which is never looked up; "
                    + "give the addresses of the service as bootstrap, or put an address in the url"
            )
        }
        guard url.scheme == .https || Self.isLoopbackLiteral(url) && scope == .loopback else {
            throw refusal(
                "its url must begin with https://; http:// is for a loopback address such as http://127.0.0.1"
            )
        }
        self.scope = scope
        method = configuration.method
    }

    /// The request that carries `question`, asked on behalf of `clientSubnet`.
    func request(
        for question: DNSQuestion,
        clientSubnet: DNSClientSubnet?
    ) throws(ProviderError) -> DoHRequest {
        let message = DNSQuery.encoded(question, clientSubnet: clientSubnet)
        var fields = HTTPFields()
        fields[.accept] = Self.mediaType
        switch method {
        case .post:
            fields[.contentType] = Self.mediaType
            return DoHRequest(method: .post, url: url, headerFields: fields, body: message)
        case .get:
            let text = url.description
            let separator = text.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
            do throws(URLFailure) {
                let target = try ParsedURL("\(text)\(separator)dns=\(Base64URL.encode(message))")
                return DoHRequest(method: .get, url: target, headerFields: fields, body: nil)
            } catch {
                throw ProviderError(code: .unreachable, message: "the query does not fit into the url: \(error)")
            }
        }
    }

    /// The URL without `{?dns}` or `{&dns}` at its end; nil with any other brace (RFC 6570).
    private static func withoutTemplate(_ url: String) -> String? {
        var text = url[...]
        for template in ["{?dns}", "{&dns}"] where text.hasSuffix(template) {
            text = text.dropLast(template.count)
            break
        }
        return text.utf8.contains { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "}") } ? nil : String(text)
    }

    private static func endpoints(of url: ParsedURL, bootstrap: [IPAddress]) -> [Endpoint] {
        var addresses: [IPAddress] = []
        if case .address(let literal) = url.host { addresses.append(literal) }
        for address in bootstrap where !addresses.contains(address) { addresses.append(address) }
        return addresses.map { Endpoint(address: $0, port: url.port) }
    }

    /// The most public scope among the endpoints; nil when there are none.
    private static func scope(of endpoints: [Endpoint]) -> AddressScope? {
        endpoints.map { endpoint in
            let scope = AddressScope(of: endpoint.address)
            return scope == .special ? .private : scope
        }.min()
    }

    private static func isLoopbackLiteral(_ url: ParsedURL) -> Bool {
        guard case .address(let literal) = url.host else { return false }
        return AddressScope(of: literal) == .loopback
    }
}
