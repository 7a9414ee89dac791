// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The right to fetch a response for all requests that wait for it.
typealias FetchLead = ReadCoalescer<FetchKey, Void>.Lead

// The step of the pipeline: what happens with one hop.
extension HTTPDNSClient.ResponseCache: ResponseCaching {
    package func respond(to hop: CacheableHop) async throws -> HTTPDNSClient.Response {
        guard hop.isRead else { return try await sendOther(hop) }
        let place = CachePlace(hop, self)
        if let response = served(place) { return response }
        count { $0.requests += 1 }
        let response = try await answer(to: hop, place)
        if let source = response.cacheSource { count { $0.note(source) } }
        return response
    }

    /// Returns a stored response, or that of the server. It counts nothing but failures.
    private func answer(to hop: CacheableHop, _ place: CachePlace) async throws -> HTTPDNSClient.Response {
        // A request that takes nothing stored gains nothing by waiting.
        let mayUseStored = !place.policy.contains(.doNotRead) && !place.request.directives.isNoCache
        var (waits, waitEnd, lead): (Int, MonotonicTime?, FetchLead?) = (0, nil, nil)
        while true {
            let entry = place.policy.contains(.doNotRead) ? nil : try await find(place)
            var current = entry
            if let entry, place.mayUse(entry.head) {
                switch try await stored(entry, place, hop) {
                case .response(let response):
                    lead?.end(.shared(()))
                    return response
                case .validate: break
                // A validation would be of no use without the body.
                case .unreadable: current = nil
                }
            }
            if isOffline { return try await offline(current, place, hop) }
            if place.request.directives.onlyIfCached || place.policy.contains(.onlyStored) { return unavailable() }
            guard place.mayJoin, lead == nil else { return try await fetch(current, place, hop, lead) }
            // After two waits the response is another variant, or two others have failed.
            guard mayUseStored, waits < 2 else {
                let lead = reads.lead(place.fetchKey, order: place.order) ?? reads.alone(place.fetchKey)
                return try await fetch(current, place, hop, lead)
            }
            // The sum of all waits for others is limited.
            let limit = waitEnd ?? waitLimit(of: hop)
            waitEnd = limit
            let turn = try await reads.turn(
                place.fetchKey,
                order: place.order,
                head: limit,
                body: limit,
                hasWaited: waits > 0
            )
            switch turn {
            // It takes the place of another one, whose response may have been stored meanwhile.
            case .send(let granted) where granted.hasWaited && granted.isShared: lead = granted
            case .send(let granted): return try await fetch(current, place, hop, granted)
            case .shared: waits += 1
            case .failed, .overdue: return try await fetch(current, place, hop, reads.alone(place.fetchKey))
            }
        }
    }

    package func removeResponse(to hop: CacheableHop) async {
        guard hop.isRead, let entry = try? await find(CachePlace(hop, self)) else { return }
        await remove(entry)
    }

    /// Returns a stored response whose body is in memory; nil when the request wants a part, has conditions, or has to wait.
    private func served(_ place: CachePlace) -> HTTPDNSClient.Response? {
        guard let memory, place.isShareable, !place.policy.contains(.doNotRead) else { return nil }
        let now = clock.now()
        guard let entry = newest(of: memory.responses(.variants(place.url, place.partition)), place, at: now),
            place.mayUse(entry.head), case .memory(let bytes) = entry.body,
            case .serve(let freshness) = ReuseDecision(
                entry.head,
                for: place.request,
                place.policy,
                at: now,
                place.rules
            )
        else { return nil }
        let source: HTTPDNSClient.CacheSource = freshness.isFresh ? .hit : .stale
        count { counters in
            counters.requests += 1
            counters.note(source)
        }
        return response(
            from: entry,
            entry.response(age: freshness.ageSeconds),
            source,
            .bytes(place.request.method == .head ? [] : bytes)
        )
    }

    private func response(
        from entry: ResponseIndex.Entry,
        _ head: HTTPResponse,
        _ source: HTTPDNSClient.CacheSource,
        _ body: HTTPDNSClient.Response.Body
    ) -> HTTPDNSClient.Response {
        var response = HTTPDNSClient.Response(head: head, version: entry.version, body: body)
        response.cacheSource = source
        response.serverScope = entry.head.scope
        response.hasStoredCookies = true
        return response
    }

    /// The longest body that is stored, in bytes.
    private var maximumEntryBytes: Int { settings.maximumEntryBytes }

    /// Returns the moment at which a request that waits for another one continues by itself. Half of its time is left then
    /// to be sent.
    private func waitLimit(of hop: CacheableHop) -> MonotonicTime {
        let now = time.now()
        let limit = now + settings.refreshWait
        // The call's time is that of the system, and a test may have put the cache on another clock.
        guard let deadline = hop.deadline, time is SystemTimeSource else { return limit }
        return min(limit, now + (deadline - now) / 2)
    }

    /// Returns the stored response for a request.
    /// - Throws: `CancellationError`.
    private func find(_ place: CachePlace) async throws -> ResponseIndex.Entry? {
        newest(
            of: try await store.responses(.variants(place.url, place.partition).until(place.time)),
            place,
            at: clock.now()
        )
    }

    /// Returns the newest of the variants that a request may get. A stored response must not lead where the request itself may
    /// not go. A store that had a private cache may have responses that a shared one does not store.
    private func newest(of variants: [StoredResponse], _ place: CachePlace, at now: Int64) -> ResponseIndex.Entry? {
        let entry = place.request.newest(of: variants, at: now) { head in
            guard !head.isBeyond(settings.limits.age, at: now), place.rules.mode != .shared || !head.facts.isForOneUser
            else { return false }
            guard let limit = place.maximumScope else { return true }
            return head.scope.map { $0 <= limit } ?? false
        }
        entry?.noteUse()
        return entry
    }

    /// Removes one stored response.
    private func remove(_ entry: ResponseIndex.Entry) async { try? await store.remove(.one(entry)) }

    // MARK: without the server

    private enum StoredAnswer {
        case response(HTTPDNSClient.Response)
        /// The server must be asked.
        case validate
        /// The body cannot be read now, or its file is damaged.
        case unreadable
    }

    /// Returns the response from the store.
    private func stored(_ entry: ResponseIndex.Entry, _ place: CachePlace, _ hop: CacheableHop) async throws
        -> StoredAnswer
    {
        switch ReuseDecision(entry.head, for: place.request, place.policy, at: clock.now(), place.rules) {
        case .validate: return .validate
        case .serve(let freshness):
            let source: HTTPDNSClient.CacheSource = freshness.isFresh ? .hit : .stale
            return try await response(from: entry, source, freshness, place).map { .response($0) } ?? .unreadable
        case .serveWhileRevalidating(let freshness):
            guard let response = try await response(from: entry, .stale, freshness, place) else { return .unreadable }
            refreshInBackground(entry, place, hop)
            return .response(response)
        }
    }

    private func refreshInBackground(_ entry: ResponseIndex.Entry, _ place: CachePlace, _ hop: CacheableHop) {
        guard !isOffline, !place.policy.contains(.doNotWrite),
            let lead = reads.lead(place.fetchKey, order: place.order)
        else { return }
        var request = hop.request
        if !place.isShareable {
            // Without `Range` the client would request content codings, which may be those of another variant.
            request.changeOptions { [decodes = hop.requestsCodings] in $0.decodesBody = decodes }
            // A part is not stored, and a condition is about what its caller has.
            request.headerFields.removeAll {
                !FieldKinds(HTTPFields(CollectionOfOne($0))).isDisjoint(with: .notShareable)
            }
        }
        count { $0.backgroundRefreshes += 1 }
        hop.inBackground(request) { hop in
            // The time limits of the call that began it are not its own.
            let place = CachePlace.inBackground(hop, self)
            guard let response = try? await self.fetch(entry, place, hop, lead) else { return }
            // A body that is too long to be stored is not read to its end.
            var (body, left) = (response.body.makeAsyncIterator(), self.maximumEntryBytes)
            while left > 0, let chunk = try? await body.next(), !chunk.isEmpty { left -= chunk.count }
        }
    }

    private func offline(_ entry: ResponseIndex.Entry?, _ place: CachePlace, _ hop: CacheableHop) async throws
        -> HTTPDNSClient.Response
    {
        if let entry, let response = try await offline(entry, place) { return response }
        count { $0.unavailable += 1 }
        throw offlineError(hop.url)
    }

    private func offlineError(_ url: HTTPDNSRewriter.CanonicalURL) -> HTTPDNSClientError {
        HTTPDNSClientError(
            code: .offline,
            phase: .request,
            message: "\(url.host) was not asked: the response cache is offline and has no response to this request",
            host: url.host.description,
            hint: "set isOffline of the cache to false to send requests again"
        )
    }

    private func offline(_ entry: ResponseIndex.Entry, _ place: CachePlace) async throws -> HTTPDNSClient.Response? {
        guard ReuseDecision.servesOffline(entry.head, for: place.request, place.rules) else { return nil }
        return try await response(from: entry, .offline, place.freshness(of: entry.head, at: clock.now()), place)
    }

    private func unavailable() -> HTTPDNSClient.Response {
        var response = HTTPDNSClient.Response(head: HTTPResponse(status: .gatewayTimeout), body: .bytes([]))
        response.cacheSource = .unavailable
        return response
    }

    /// Returns a stored response as the request wants it: whole, a part, or its head alone.
    /// - Returns: Nil when the body cannot be read. The entry is removed if its file is damaged.
    private func response(
        from entry: ResponseIndex.Entry,
        _ source: HTTPDNSClient.CacheSource,
        _ freshness: Freshness,
        _ place: CachePlace
    ) async throws -> HTTPDNSClient.Response? {
        var head = entry.response(age: freshness.ageSeconds)
        var range = 0..<entry.bodyLength
        let (fields, kinds) = (place.request.fields, place.request.kinds)
        if kinds.contains(.condition), !kinds.contains(.rangeCondition) {
            guard let isNotModified = Validation.isNotModified(entry.head, for: fields, at: clock.now()) else {
                return nil
            }
            if isNotModified {
                head.status = .notModified
                for name in [HTTPField.Name.contentLength, .contentEncoding, .contentType] {
                    head.headerFields[name] = nil
                }
                range = 0..<0
            }
        }
        if head.status == .ok, place.request.method == .get {
            switch StoredRange(fields, of: entry.head, length: entry.bodyLength) {
            case .whole: break
            case .unsatisfiable:
                head = HTTPResponse(status: .rangeNotSatisfiable)
                head.headerFields[.contentRange] = "bytes */\(entry.bodyLength)"
                range = 0..<0
            case .part(let part):
                head.status = .partialContent
                head.headerFields[.contentRange] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(entry.bodyLength)"
                head.headerFields[.contentLength] = String(part.count)
                range = part
            }
        }
        if place.needsNoBody { range = 0..<0 }
        guard let body = range.isEmpty ? .bytes([]) : try await entry.read(range, until: place.time) else {
            return nil
        }
        return response(from: entry, head, source, body)
    }

    // MARK: with the server

    /// Sends a request that is neither GET nor HEAD, and removes the responses that it makes invalid.
    private func sendOther(_ hop: CacheableHop) async throws -> HTTPDNSClient.Response {
        if isOffline { throw offlineError(hop.url) }
        let response = try await hop.send(hop.request)
        guard Validation.invalidates(hop.request.method, status: response.status.code) else { return response }
        let time = ReadTime(head: hop.deadline, body: hop.bodyDeadline)
        await invalidate(key(of: hop.url), until: time)
        for reference in Validation.invalidatedReferences(in: response.headerFields) {
            guard let url = hop.resolve(reference), url.scheme == hop.url.scheme, url.authority == hop.url.authority
            else { continue }
            await invalidate(key(of: url), until: time)
        }
        return response
    }

    /// Sends a request, and stores its response. A stored response is validated.
    private func fetch(
        _ entry: ResponseIndex.Entry?,
        _ place: CachePlace,
        _ hop: CacheableHop,
        _ lead: FetchLead?
    ) async throws -> HTTPDNSClient.Response {
        var request = hop.request
        let usable = entry.flatMap { place.mayUse($0.head) ? $0 : nil }
        let validated = place.isShareable && !place.policy.contains(.doNotRead) ? usable : nil
        let conditions = validated.map { Validation.conditions(for: $0.head) } ?? [:]
        for condition in conditions { request.headerFields.append(condition) }
        let ticket = fetches.begin(place.url, until: place.time)
        let requestTime = clock.now()
        var response: HTTPDNSClient.Response
        do {
            response = try await hop.send(request)
        } catch let error as HTTPDNSClientError {
            // Requests that wait would fail one after the other, unless the time of this one has passed.
            lead?.end(error.isCallDeadline ? .abandoned : .alone(isRemembered: false))
            guard let usable, let stored = try await replacement(for: error, usable, place) else { throw error }
            return stored
        }
        let times = (request: requestTime, response: clock.now())
        let status = response.status.code
        if status == 304, let validated, !conditions.isEmpty {
            try? await response.body.discard()
            if let fresh = try await revalidated(validated, by: response, times, place, ticket) {
                lead?.end(.shared(()))
                return fresh
            }
            // The server means another representation, or the body cannot be read.
            return try await fetch(nil, place, hop, lead)
        }
        if [500, 502, 503, 504].contains(status), let usable, place.isShareable,
            ReuseDecision.replacesError(usable.head, for: place.request, place.policy, at: clock.now(), place.rules),
            var stored = try await self.response(
                from: usable,
                .stale,
                place.freshness(of: usable.head, at: clock.now()),
                place
            )
        {
            try? await response.body.discard()
            lead?.end(.alone(isRemembered: false))
            stored.exchanges = response.exchanges.map { $0.with(.stale) }
            return stored
        }
        response.cacheSource = .miss
        if request.method == .head {
            await noteHead(response, entry, times, place, ticket)
            return response
        }
        return await storing(response, entry, place, hop, lead, times, ticket)
    }

    /// Returns the stored response that replaces a failed request; nil when none may.
    private func replacement(for error: HTTPDNSClientError, _ entry: ResponseIndex.Entry, _ place: CachePlace)
        async throws
        -> HTTPDNSClient.Response?
    {
        if settings.servesWhenUnreachable, isUnreached(error), let response = try await offline(entry, place) {
            return response
        }
        guard ReuseDecision.replacesError(entry.head, for: place.request, place.policy, at: clock.now(), place.rules)
        else {
            return nil
        }
        return try await response(from: entry, .stale, place.freshness(of: entry.head, at: clock.now()), place)
    }

    /// Whether no server was reached.
    private func isUnreached(_ error: HTTPDNSClientError) -> Bool {
        guard !error.requestMayHaveBeenSent else { return false }
        switch error.code {
        case .resolveFailed, .connectFailed, .proxyUnreachable: return true
        default: return error.code == .timedOut && [.resolve, .connect, .tls].contains(error.phase)
        }
    }

    /// Updates a stored response after its validation, and returns it.
    private func revalidated(
        _ entry: ResponseIndex.Entry,
        by answer: HTTPDNSClient.Response,
        _ times: (request: Int64, response: Int64),
        _ place: CachePlace,
        _ ticket: FetchTicket
    ) async throws -> HTTPDNSClient.Response? {
        guard
            let head = Validation.updated(
                entry.head,
                by: answer.headerFields,
                requestTime: times.request,
                responseTime: times.response
            )
        else {
            await remove(entry)
            return nil
        }
        guard
            var response = try await response(
                from: entry.with(head),
                .validated,
                place.freshness(of: head, at: clock.now()),
                place
            )
        else { return nil }
        await update(entry, head, by: answer, place, ticket)
        // The age of a response that was validated just now says nothing.
        if !answer.headerFields.contains(.age) { response.head.headerFields[.age] = nil }
        // The stored cookies were received before, and those of the 304 response are for this request.
        if ResponseSharing.haveCookies(answer.headerFields) { response.hasStoredCookies = false }
        response.exchanges = answer.exchanges.map { $0.with(.validated) }
        return response
    }

    /// Updates a stored response with the head of a newer answer. An answer for one user must not change what others get: it
    /// leaves the stored response alone, or ends it.
    private func update(
        _ entry: ResponseIndex.Entry,
        _ head: StoredHead,
        by answer: HTTPDNSClient.Response,
        _ place: CachePlace,
        _ ticket: FetchTicket
    ) async {
        let control = CacheControl(answer.headerFields)
        let isWithdrawn = control.isNoStore || control.isPrivate && place.rules.mode == .shared
        // The answer may name other fields, and it is about this request.
        guard !isWithdrawn, let vary = place.vary(by: head.fields) else { return await remove(entry) }
        var (head, request) = (head, place.request)
        head.vary = vary.keeping(head.vary)
        request.method = .get
        // What the answer does not say stays as it was (RFC 9111 section 4.3.4).
        guard !place.policy.contains(.doNotWrite), isSentAsKnown(answer, varyingBy: head.fields, place),
            Storability.mayStore(head, receivedFields: head.fields, to: request, place.rules), ticket.isCurrent
        else { return }
        let newer = entry.with(head, ticket: ticket)
        try? await store.update(StoredResponse(entry), to: StoredResponse(newer))
        // A store that writes the response again may have done so after its removal.
        if !ticket.isCurrent { await remove(newer) }
    }

    /// Whether the request was sent with the fields that the key and the rules were made with. A network interceptor may have
    /// added another user's credential or a field that the response varies by.
    private func isSentAsKnown(_ response: HTTPDNSClient.Response, varyingBy fields: HTTPFields, _ place: CachePlace)
        -> Bool
    {
        guard let sent = response.sentFields else { return true }
        let varying = (ResponseSharing.varyingNames(in: fields) ?? []).compactMap { HTTPField.Name($0) }
        let names: [HTTPField.Name] = [.authorization, .cookie] + varying
        return names.allSatisfy { sent[fields: $0].map(\.text) == place.request.fields[fields: $0].map(\.text) }
    }

    /// Updates or removes a stored response after a HEAD request.
    private func noteHead(
        _ response: HTTPDNSClient.Response,
        _ entry: ResponseIndex.Entry?,
        _ times: (request: Int64, response: Int64),
        _ place: CachePlace,
        _ ticket: FetchTicket
    ) async {
        guard let entry, response.status == .ok, entry.head.status == 200 else { return }
        let head = Validation.updated(
            entry.head,
            byHead: response.headerFields,
            bodyLength: entry.bodyLength,
            requestTime: times.request,
            responseTime: times.response
        )
        if let head { await update(entry, head, by: response, place, ticket) } else { await remove(entry) }
    }

    /// Returns the reason that a response is not stored; nil when it is.
    private func refusal(
        of response: HTTPDNSClient.Response,
        _ head: StoredHead,
        _ place: CachePlace,
        _ hop: CacheableHop
    ) -> Storability.Refusal? {
        let fields = response.headerFields
        guard !place.policy.contains(.doNotWrite), hop.isCurrent else { return .other }
        guard !place.hasCountedCredential else { return .authorization }
        guard isSentAsKnown(response, varyingBy: fields, place),
            // A hit would redirect relative to the URL of its request.
            !(fields.contains(.location) && hop.isAnsweredElsewhere(response)),
            response.body.declaredLength.map({ $0 <= Int64(maximumEntryBytes) }) ?? true
        else { return .other }
        if let refusal = Storability.refusal(of: head, receivedFields: fields, to: place.request, place.rules) {
            return refusal
        }
        return settings.mayStore?(hop.request, response.head) ?? true ? nil : .other
    }

    /// Returns a response from the server whose body is stored while it is read, if that is permitted.
    private func storing(
        _ response: HTTPDNSClient.Response,
        _ entry: ResponseIndex.Entry?,
        _ place: CachePlace,
        _ hop: CacheableHop,
        _ lead: FetchLead?,
        _ times: (request: Int64, response: Int64),
        _ ticket: FetchTicket
    ) async -> HTTPDNSClient.Response {
        var response = response
        if !response.exchanges.isEmpty { response.exchanges[response.exchanges.count - 1].cacheSource = .miss }
        let fields = response.headerFields
        let head = StoredHead(
            url: place.url,
            partition: place.partition,
            status: response.status.code,
            reason: response.status.reasonPhrase,
            version: response.version.description,
            fields: StorableFields.of(fields),
            vary: place.vary(by: fields) ?? VaryFields(),
            requestTime: times.request,
            responseTime: times.response,
            isForSession: place.lifetime == .session,
            scope: response.serverScope
        )
        if let refusal = refusal(of: response, head, place, hop) {
            count { $0.note(refusal) }
            // The newer response replaces the stored one, which is outdated.
            if let entry, head.status < 500, !ResponseSharing.answersOneRequest(head.status), place.isShareable,
                !place.policy.contains(.doNotWrite)
            {
                await remove(entry)
            }
            // An error says nothing about the next response.
            lead?.end(.alone(isRemembered: place.mayJoin && head.status < 500 && head.status != 429))
            return response
        }
        let pending = ResponseIndex.Entry(head, .elsewhere, bodyLength: 0, cost: 0, ticket: ticket)
        guard let writer = try? await store.writer(for: StoredResponse(pending)) else {
            count { $0.note(.other) }
            lead?.end(.alone(isRemembered: false))
            return response
        }
        let session = StoringBody.Session(writer, lead) { self.count { $0.stored += 1 } }
        // Until its caller begins to read, the body waits.
        lead?.noteReading(false)
        let body = StoringBody(base: response.body, session: session)
        response.body = response.body.changed(to: body, length: response.body.declaredLength)
        return response
    }
}

extension HTTPDNSClient.Exchange {
    fileprivate func with(_ source: HTTPDNSClient.CacheSource) -> HTTPDNSClient.Exchange {
        var exchange = self
        exchange.cacheSource = source
        return exchange
    }
}
