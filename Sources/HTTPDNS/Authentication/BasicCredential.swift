// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The credential of Basic authentication as a field (RFC 7617): for user information of URLs and for
/// ``HTTPDNSClient/Credential``.
enum BasicCredential {
    /// Returns the reason why a user and a password cannot be sent; nil when they can.
    /// - Parameter bearer: The text that had them, for the reason: "the URL".
    static func fault(user: String, password: String, in bearer: String) -> String? {
        if user.utf8.contains(UInt8(ascii: ":")) {
            return "the user in \(bearer) has a colon, which Basic authorization cannot carry (RFC 7617 section 2)"
        }
        if (user + password).utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) {
            return "the user or password in \(bearer) has a control character, which RFC 7617 section 2 forbids"
        }
        return nil
    }

    /// Returns the value of the field. Its text is UTF-8 (RFC 7617 section 2.1).
    static func value(user: String, password: String) -> String {
        "Basic \(Base64.text(Array("\(user):\(password)".utf8)))"
    }

    /// Returns the user information of a URL as an `Authorization` field.
    /// - Throws: ``HTTPDNSClientError`` with code `invalidURL`, for a user or password that the scheme cannot carry.
    static func field(for credential: ParsedURL.Credential) throws(HTTPDNSClientError) -> HTTPField {
        if let fault = fault(user: credential.user, password: credential.password, in: "the URL") {
            throw HTTPDNSClientError(
                code: .invalidURL,
                phase: .request,
                message: fault,
                hint: "leave it out of the URL and set an Authorization header field"
            )
        }
        return .authorization(value(user: credential.user, password: credential.password).utf8)
    }
}

extension HTTPField {
    /// Returns a field with a credential, which HTTP/2 must not put into its table (RFC 7541 section 7.1.3).
    static func authorization(_ value: some Collection<UInt8>, _ name: HTTPField.Name = .authorization) -> HTTPField {
        var field = HTTPField(name: name, value: value)
        field.indexingStrategy = .disallow
        return field
    }
}
