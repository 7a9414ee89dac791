internal import HTTPTypes

extension UpstreamReply {
    /// The media types that messages quote: those of the protocols, and of the pages and errors of other servers.
    private static let namedMediaTypes: Set<String> = [
        "application/dns-json", "application/dns-message", "application/javascript", "application/json",
        "application/octet-stream", "application/problem+json", "application/x-javascript", "application/xhtml+xml",
        "application/xml", "text/html", "text/javascript", "text/json", "text/plain", "text/xml",
    ]

    /// The media type without its parameters, in lower case; `nil` without a Content-Type.
    var mediaType: String? {
        headerFields[.contentType].map { field -> String in
            if Self.namedMediaTypes.contains(field) { return field }
            return field.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
        }
    }

    /// The Content-Type for a message. Only a type of a closed list is quoted: some servers repeat the request line in that
    /// field, and the token or the signature would then appear in errors and logs.
    var contentTypeForMessages: String {
        guard let mediaType else { return "no Content-Type" }
        return Self.namedMediaTypes.contains(mediaType) ? "Content-Type \(mediaType)" : "an unknown Content-Type"
    }

    /// A hint for a body of another kind.
    var contentTypeHint: String {
        "\(contentTypeForMessages): a captive portal or another service may answer; check the url"
    }
}
