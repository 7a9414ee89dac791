// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The translation of calls into records, with redaction.
struct RecordMaker: Sendable {
    private typealias Monitor = HTTPDNSTrafficMonitor

    private var redaction: HTTPDNSClient.Redaction { settings.redaction }

    private let settings: HTTPDNSTrafficMonitor.Settings
    private let clock: WallClock
    /// Whether only those who read the records of the monitor get them, without bodies.
    private let isForReaders: Bool

    init(_ settings: HTTPDNSTrafficMonitor.Settings, clock: WallClock) {
        self.settings = settings
        isForReaders =
            settings.edit == nil && settings.files == nil && settings.exporter == nil
            && settings.requestBodyLimit.bytes == 0 && settings.responseBodyLimit.bytes == 0
        self.clock = clock
    }

    /// Returns the call that has ended now.
    func ended(_ call: HTTPDNSClient.CallRecord, _ details: CallDetails) -> EndedCall {
        let elapsed = SystemTimeSource().now() - call.start
        return EndedCall(call, details, startTime: clock.now() - elapsed.wholeNanoseconds / 1_000_000)
    }

    /// Returns whether a call may be kept until its record is read, when the secrets that names show in its header fields are cut.
    /// Otherwise something else takes the record, or there may be other secrets.
    func mayKeep(_ ended: EndedCall) -> Bool {
        guard isForReaders, ended.call.error == nil else { return false }
        // An interceptor may have changed the caller's URL.
        let isOther = ended.call.hops.isEmpty || ended.call.hops[0].messages?.url != ended.url
        guard !isOther || hasNoSecret(HopTarget(ended.url, nil).url, ended.url) else { return false }
        return ended.targets.indices.allSatisfy { index in
            ended.call.hops[index].error == nil
                && hasNoSecret(ended.targets[index].url, ended.call.hops[index].messages?.url)
        }
    }

    private func hasNoSecret(_ url: HTTPDNSRewriter.CanonicalURL?, _ text: String?) -> Bool {
        url.map { !redaction.mayChange($0, text) } ?? false
    }

    /// Returns the record of a call.
    func record(of ended: EndedCall) -> HTTPDNSTrafficMonitor.Record {
        let (call, details) = (ended.call, ended.call.details)
        let isWithheld = details.flatMap { settings.withholdsBodies?.matchesHead(of: $0.request) } ?? false
        let hops = call.hops.indices.map { index in
            hop(call.hops[index], ended.targets[index], of: call, details, isWithheld: isWithheld)
        }
        // Mostly the caller's URL is that of the first hop.
        let isFirst = !call.hops.isEmpty && call.hops[0].messages?.url == ended.url
        return Monitor.Record(
            callID: call.callID,
            startTime: ended.startTime,
            method: call.method.rawValue,
            url: isFirst ? hops[0].url : redaction.url(HopTarget(ended.url, nil).url, ended.url),
            outcome: call.outcome.description,
            status: call.status?.code,
            failure: call.error.map(failure),
            duration: call.duration,
            timeToHead: call.timeToHead,
            redirects: call.redirects,
            retries: call.retries,
            bodyBytes: call.bodyBytes,
            isBodyComplete: call.isBodyComplete,
            requestBody: details.flatMap { requestBody($0.request, isWithheld: isWithheld) },
            responseBody: details.flatMap { responseBody(call, $0, isWithheld: isWithheld) },
            hops: hops
        )
    }

    private func failure(_ error: HTTPDNSClientError) -> HTTPDNSTrafficMonitor.Failure {
        Monitor.Failure(
            code: error.code.description,
            phase: error.phase.description,
            message: redaction.text(error.message.onOneLine(limit: 1000))
        )
    }

    private func hop(
        _ hop: HTTPDNSClient.CallRecord.Hop,
        _ target: HopTarget,
        of call: HTTPDNSClient.CallRecord,
        _ details: CallDetails?,
        isWithheld: Bool
    ) -> HTTPDNSTrafficMonitor.Hop {
        let messages = hop.messages
        let response = messages?.response
        // The fields and the body are those of the stored response.
        let status = hop.cacheSource == .validated ? response?.status ?? hop.status : hop.status
        return Monitor.Hop(
            number: hop.number,
            offset: hop.start - call.start,
            duration: hop.duration,
            method: hop.method.rawValue,
            url: redaction.url(target.url, messages?.url ?? hop.url),
            route: target.route,
            requestFields: redaction.fields(messages?.requestFields ?? [:]),
            requestBody: messages.flatMap { sent in
                details.flatMap { changedBody(sent, $0.request, isWithheld: isWithheld) }
            },
            isAnsweredInProcess: hop.isAnsweredInProcess,
            cacheSource: hop.cacheSource?.description,
            isMerged: hop.isMerged,
            status: status?.code,
            reason: redaction.text(status?.reasonPhrase ?? ""),
            responseFields: redaction.fields(response?.headerFields ?? [:]),
            version: hop.exchange?.version.description,
            tls: (hop.exchange?.tls).map {
                Monitor.TLSParameters(version: $0.version, cipherSuite: $0.cipherSuite)
            },
            addresses: addresses(of: hop),
            reusedConnection: hop.exchange?.reusedConnection ?? false,
            isHedged: hop.isHedged,
            phases: Monitor.Phases(
                resolve: hop.exchange?.resolve,
                race: hop.timings.race,
                connect: hop.timings.connect,
                tls: hop.timings.tls,
                firstByte: hop.timings.firstByte,
                total: hop.timings.total
            ),
            bytes: Monitor.Bytes(
                requestHead: hop.requestHeadBytes,
                requestBody: hop.requestBodyBytes,
                responseHead: hop.responseHeadBytes,
                responseBody: hop.responseBodyBytes,
                decodedBody: hop.decodedBodyBytes
            ),
            failure: hop.error.map(failure)
        )
    }

    private func addresses(of hop: HTTPDNSClient.CallRecord.Hop) -> HTTPDNSTrafficMonitor.AddressChoice {
        let exchange = hop.exchange
        return Monitor.AddressChoice(
            source: (exchange?.source ?? hop.source)?.description,
            provider: exchange?.provider,
            mapping: exchange?.mapping?.key.description,
            age: exchange?.age,
            timeLeft: exchange?.timeLeft,
            isStale: exchange?.isStale ?? false,
            candidates: hop.addresses.map(\.description),
            attempts: hop.attempts.map { attempt in
                Monitor.Attempt(
                    endpoint: attempt.endpoint.description,
                    phase: attempt.phase.description,
                    failure: attempt.failure,
                    elapsed: attempt.elapsed
                )
            },
            endpoint: exchange?.endpoint?.description,
            proxy: exchange?.proxy
        )
    }

    // MARK: bodies

    private func requestBody(
        _ request: HTTPDNSClient.Request,
        isWithheld: Bool
    ) -> HTTPDNSTrafficMonitor.Body? {
        requestBody(request.body, request.headerFields, isWithheld: isWithheld)
    }

    private func requestBody(
        _ body: HTTPDNSClient.Request.Body,
        _ fields: HTTPFields,
        isWithheld: Bool
    ) -> HTTPDNSTrafficMonitor.Body? {
        let (limit, length) = (settings.requestBodyLimit.bytes, body.declaredLength)
        guard limit > 0, length != 0, let start = body.startInMemory(upTo: limit) else { return nil }
        return BodyText(
            start: start,
            length: length,
            mediaType: fields[.contentType] ?? body.contentType,
            // A body that the client compresses is read before that.
            isCoded: fields.contains(.contentEncoding)
        ).body(isWithheld: isWithheld, redaction)
    }

    /// Returns the body of a hop; nil for that of the caller's request.
    private func changedBody(
        _ sent: CallDetails.Messages,
        _ request: HTTPDNSClient.Request,
        isWithheld: Bool
    ) -> HTTPDNSTrafficMonitor.Body? {
        let limit = settings.requestBodyLimit.bytes
        guard limit > 0 else { return nil }
        let (start, own) = (sent.requestBody.startInMemory(upTo: limit), request.body.startInMemory(upTo: limit))
        let type = sent.requestFields[.contentType] ?? sent.requestBody.contentType
        let length = sent.requestBody.declaredLength
        let isSame = start == own && length == request.body.declaredLength
        guard !isSame || length != 0 && type != request.headerFields[.contentType] ?? request.body.contentType else {
            return nil
        }
        if let body = requestBody(sent.requestBody, sent.requestFields, isWithheld: isWithheld) { return body }
        var body = Monitor.Body(mediaType: type.map(redaction.text), length: length, isTruncated: length != 0)
        if length == 0 { body.text = "" } else { body.withheld = .notInMemory }
        return body
    }

    private func responseBody(
        _ call: HTTPDNSClient.CallRecord,
        _ details: CallDetails,
        isWithheld: Bool
    ) -> HTTPDNSTrafficMonitor.Body? {
        guard settings.responseBodyLimit.bytes > 0, call.bodyBytes > 0, let response = details.response else {
            return nil
        }
        let coding = response.headerFields[.contentEncoding]?.lowercased() ?? "identity"
        return BodyText(
            // Another monitor of the same client may ask for more.
            start: Array(details.bodyStart.prefix(settings.responseBodyLimit.bytes)),
            length: call.isBodyComplete ? call.bodyBytes : nil,
            mediaType: response.headerFields.singleton(.contentType)?.value,
            isCoded: coding != "identity" && !(call.hops.last?.messages?.isDecoded ?? true)
        ).body(isWithheld: isWithheld, redaction)
    }
}
