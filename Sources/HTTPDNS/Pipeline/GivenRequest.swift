// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPTypes

/// A request that code of others has received, with the rules for the request that this code passes on in its place.
struct GivenRequest {
    let request: HTTPDNSClient.Request
    /// The authorization that the client has added; nil for none.
    var authorization: RequestAuthorization?
    /// Whether the client has added cookies of its jar.
    var hasJarCookies = false

    /// Returns the request that is passed on.
    ///
    /// It has the options of the received one: all of them for the same origin, those that belong to no origin for another.
    /// Fields of the client's credential and of its jar do not leave their origin.
    func replaced(by new: HTTPDNSClient.Request) -> HTTPDNSClient.Request {
        var next = new
        if new.own?.isResolved != true, var options = request.own?.options {
            if HTTPDNSClient.Origin(new.url) != HTTPDNSClient.Origin(request.url) { options.forgetOrigin() }
            next = new.resolved(from: HTTPDNSClient.Request.SharedOptions(options))
        }
        if let authorization, next.url != request.url, HTTPDNSClient.Origin(next.url) != authorization.origin {
            // A field with another value is the other code's own.
            next.headerFields.removeAll(where: authorization.isField)
        }
        // A field that the other code has changed may still contain cookies of the jar.
        if hasJarCookies, !mayHaveSameCookies(next) { next.headerFields.removeAll { $0.name == .cookie } }
        return next
    }

    /// Whether a request is for the same host, and not in clear text in place of https.
    private func mayHaveSameCookies(_ next: HTTPDNSClient.Request) -> Bool {
        guard let old = try? HTTPDNSRewriter.Canonicalizer.canonicalize(request.url).parsed,
            let new = try? HTTPDNSRewriter.Canonicalizer.canonicalize(next.url).parsed
        else { return false }
        return old.host == new.host && (old.scheme == new.scheme || new.scheme == .https)
    }
}
