// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import Foundation
public import FoundationNetworking
public import HTTPDNS
internal import HTTPDNSCore
internal import HTTPTypes

extension HTTPURLResponse {
    /// Creates a response of Foundation with the head of one of the client; nil when Foundation refuses it.
    ///
    /// The URL is that of the last hop: after redirects, the URL that answered, also when a stub or the response cache did. It has
    /// no user information. Fields of one name become one, with their values in order and a comma with a space between them, and
    /// the spelling of the first one. `Content-Type` and `Content-Length`, which Foundation reads, are there once.
    /// - Parameters:
    ///   - response: The response. Its body is not read.
    ///   - url: The URL for a response without exchanges that no redirect led to, such as that of an interceptor.
    public convenience init?(_ response: HTTPDNSClient.Response, url: URL) {
        var names: [String: String] = [:]
        var fields: [String: String] = [:]
        for field in response.headerFields {
            let name = names[field.name.canonicalName] ?? field.name.rawName
            names[field.name.canonicalName] = name
            fields[name] = fields[name].map { "\($0), \(field.value)" } ?? field.value
        }
        for name in [HTTPField.Name.contentType, .contentLength] {
            guard let key = names[name.canonicalName], let field = response.headerFields.singleton(name) else {
                continue
            }
            fields[key] = field.value
        }
        self.init(
            url: URL(string: response.url) ?? url,
            statusCode: response.status.code,
            httpVersion: response.version.description,
            headerFields: fields
        )
    }
}
