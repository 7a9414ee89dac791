// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The request that a redirect leads to, made from the redirected one (RFC 9110 section 15.4).
struct RedirectedRequest {
    let request: HTTPDNSClient.Request
    let target: ParsedURL
    let changesOrigin: Bool
    /// The fields that were held back, in their order.
    let droppedFields: [HTTPField.Name]

    /// - Parameters:
    ///   - request: The redirected request.
    ///   - base: The URL of the response.
    ///   - location: The value of the field as a URI reference.
    /// - Throws: ``HTTPDNSClientError`` with code `redirectRefused`, or `invalidURL` for user information that cannot be
    ///   sent.
    init(
        _ request: HTTPDNSClient.Request,
        at base: ParsedURL,
        status: RedirectStatus,
        location: String,
        policy: HTTPDNSClient.RedirectPolicy
    ) throws(HTTPDNSClientError) {
        let target: ParsedURL
        do {
            target = try base.following(location)
        } catch {
            // The Location is not quoted: servers repeat the request's path and query there, with any secrets in them.
            throw .redirectRefused(base, status, "the Location cannot be followed: \(error.code.aboutLocation)")
        }
        // The next hop would refuse it too, with the URL in its error.
        if case .name(let name) = target.host, (try? HTTPDNSName(name)) == nil {
            let reason = URLFailure.Code.missingHost.aboutLocation
            throw .redirectRefused(base, status, "the Location cannot be followed: \(reason)")
        }
        guard
            target.credential == nil
                || target.credential == base.credential && HTTPDNSClient.Origin(target) == HTTPDNSClient.Origin(base)
        else {
            throw .redirectRefused(
                base,
                status,
                "the Location has user information, which RFC 9110 section 4.2.4 takes for an error in what a server sends"
            )
        }
        guard policy.allowsDowngrade || base.scheme == .http || target.scheme == .https else {
            throw .redirectRefused(
                base,
                status,
                "it leads from https to http, to \(target.authority)",
                hint: "if that is meant, set allowsDowngrade of the redirect policy (client.redirects.downgrade)"
            )
        }
        var next = request
        next.method = status.method(after: request.method)
        var dropped: [HTTPField.Name] = []
        if next.method != request.method || status == .seeOther {
            next.body = .none
            dropped += next.headerFields.takeOut { $0.name.isAboutContent }
        } else if request.body.isSpent {
            throw .redirectRefused(
                base,
                status,
                "it asks for the request's body again, which is a stream that was read",
                hint: "give the body as bytes, or send to \(target.authority) at once"
            )
        }
        changesOrigin = HTTPDNSClient.Origin(target) != HTTPDNSClient.Origin(base)
        if changesOrigin {
            dropped += next.headerFields.takeOut { policy.withholds($0) }
            if base.credential != nil, !dropped.contains(.authorization) { dropped.append(.authorization) }
        } else if let credential = base.credential, !next.headerFields.contains(.authorization) {
            // The URL's user information is for the origin, and an absolute Location does not repeat it.
            next.headerFields.append(try BasicCredential.field(for: credential))
        }
        next.removePropertiesOfHop()
        if changesOrigin, next.own != nil {
            let targets = next.options.addresses.targets ?? []
            let keepsAddresses = RedirectedRequest.holds(targets, from: base, to: target)
            next.changeOptions { $0.forgetOrigin(keepsAddresses: keepsAddresses) }
        }
        next.url = target.fragment.map { "\(target)#\($0)" } ?? target.description
        droppedFields = dropped
        self.request = next
        self.target = target
    }

    /// Whether the addresses of a request apply to the next hop as well. The host must be the same, and if the port
    /// changes, the addresses must have no ports.
    private static func holds(
        _ targets: [HTTPDNSClient.Request.Target],
        from base: ParsedURL,
        to target: ParsedURL
    ) -> Bool {
        guard base.host == target.host else { return false }
        return base.port == target.port || targets.allSatisfy { $0.port == nil }
    }
}

extension HTTPFields {
    /// Removes fields, and returns their names.
    fileprivate mutating func takeOut(_ isUnwanted: (HTTPField) -> Bool) -> [HTTPField.Name] {
        let unwanted = filter(isUnwanted)
        guard !unwanted.isEmpty else { return [] }
        removeAll(where: isUnwanted)
        var names: [HTTPField.Name] = []
        for field in unwanted where !names.contains(field.name) { names.append(field.name) }
        return names
    }
}

extension HTTPField.Name {
    /// Whether the field describes the body, which a request turned into a GET no longer has (RFC 9110 section 15.4).
    fileprivate var isAboutContent: Bool { HTTPField.Name.aboutContent.contains(self) }

    private static let aboutContent: Set<HTTPField.Name> = Set(
        [
            "Content-Encoding", "Content-Language", "Content-Location", "Content-Type", "Content-Digest",
            "Content-Disposition", "Content-Range", "Digest", "Repr-Digest", "Expect", "Last-Modified", "Trailer",
        ].compactMap { HTTPField.Name($0) }
    )
}

extension URLFailure.Code {
    /// The error of a Location field, without any of its text.
    fileprivate var aboutLocation: String {
        switch self {
        case .forbiddenByte: "it has a space, a control character or a backslash before its path"
        case .unsupportedScheme: "it is neither http nor https"
        case .missingHost: "it has no valid host"
        case .malformed: "it is malformed"
        case .addressForm: "its host is an address in an unusual form"
        case .port: "its port does not exist"
        case .internationalName: "its host has no A-label form"
        }
    }
}
