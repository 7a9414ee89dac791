// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPTypes

extension Pipeline {
    /// Sends the next request of a call, as its network interceptors, the cache and the jar see it: what it gets on its way down,
    /// and what its response leaves on its way back.
    ///
    /// It is inside redirects and retries: a cookie that a redirect or a failed try has set is sent with the next try.
    func sendOuter(_ call: inout CallState) async throws -> HTTPDNSClient.Response {
        let frame = call.context.frame
        if let frame {
            frame.beginHead(of: call.context.call)
            call.context.hop = frame.nextHop()
        }
        (call.context.addedFields, call.context.hasJarCookies) = (nil, false)
        // Neither the request nor its parts are copied more often: a copy counts references to all of them.
        var changed = call.request
        if let field = call.context.authorization?.nextField() { changed.headerFields.append(field) }
        frame?.observed?.beginHop(call.context.hop, changed)
        do {
            let jar = changed.own?.settings.options.usesCookies ?? true ? cookies : nil
            let cookieURL = jar.flatMap { addCookies(of: $0, to: &changed, &call.context) }
            try await settle(&changed, &call.context)
            let request = consume changed
            let response: HTTPDNSClient.Response
            if let responseCache, SharedReads.isAllowed, let hop = cacheableHop(request, call.context) {
                response = try decoded(try await responseCache.respond(to: hop), to: hop, of: responseCache)
            } else {
                response = try await intercept(0, request, call.context)
            }
            if let jar, let cookieURL { keepCookies(of: response, answering: cookieURL, in: jar, call.context) }
            if let frame {
                frame.observed?.endHop(call.context.hop, response)
                frame.endHead(of: call.context.call)
            }
            return response
        } catch {
            frame?.observed?.endHop(call.context.hop, error)
            throw error
        }
    }
}
