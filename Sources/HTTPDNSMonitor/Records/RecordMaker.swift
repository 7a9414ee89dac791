// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The translation of calls into records, with redaction.
struct RecordMaker: Sendable {
    private typealias Monitor = HTTPDNSTrafficMonitor

    private var redaction: HTTPDNSClient.Redaction { settings.redaction }

    private let settings: HTTPDNSTrafficMonitor.Settings
    private let clock: WallClock

    init(_ settings: HTTPDNSTrafficMonitor.Settings, clock: WallClock) {
        self.settings = settings
        self.clock = clock
    }

    /// - Parameter targets: The targets of the hops.
    func record(
        of call: HTTPDNSClient.CallRecord,
        _ details: CallDetails,
        _ targets: [HopTarget]
    ) -> HTTPDNSTrafficMonitor.Record {
        let elapsed = SystemTimeSource().now() - call.start
        let isWithheld = settings.withholdsBodies?.matchesHead(of: details.request) ?? false
        let hops = call.hops.indices.map { index in
            hop(call.hops[index], targets[index], of: call, details, isWithheld: isWithheld)
        }
        // Mostly the caller's URL is that of the first hop.
        let text = details.request.url
        let isFirst = !call.hops.isEmpty && call.hops[0].messages?.url == text
        return Monitor.Record(
            callID: call.callID,
            startTime: clock.now() - elapsed.wholeNanoseconds / 1_000_000,
            method: call.method.rawValue,
            url: isFirst ? hops[0].url : redaction.url(HopTarget(text, nil).url, text),
            outcome: call.outcome.description,
            status: call.status?.code,
            failure: call.error.map(failure),
            duration: call.duration,
            timeToHead: call.timeToHead,
            redirects: call.redirects,
            retries: call.retries,
            bodyBytes: call.bodyBytes,
            isBodyComplete: call.isBodyComplete,
            requestBody: requestBody(details.request, isWithheld: isWithheld),
            responseBody: responseBody(call, details, isWithheld: isWithheld),
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
        _ details: CallDetails,
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
            requestBody: messages.flatMap { changedBody($0, details.request, isWithheld: isWithheld) },
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
