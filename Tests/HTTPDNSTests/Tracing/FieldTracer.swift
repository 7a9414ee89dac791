// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Tracing
import HTTPDNS
import InMemoryTracing
import Tracing

/// A tracer that keeps its spans in memory, and injects `traceparent` and `baggage` as a W3C propagator does.
struct FieldTracer: Tracer {
    let spans = InMemoryTracer(idGenerator: .incrementing, recordInjections: false, recordExtractions: false)
    /// Further fields that it injects.
    var fields: [String: String] = [:]

    func startSpan<Instant: TracerInstant>(
        _ operationName: String,
        context: @autoclosure () -> InstrumentationContext,
        ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant,
        function: String,
        file fileID: String,
        line: UInt
    ) -> InMemorySpan {
        spans.startSpan(
            operationName,
            context: context(),
            ofKind: kind,
            at: instant(),
            function: function,
            file: fileID,
            line: line
        )
    }

    func forceFlush() {}

    func inject<Carrier, Inject: Injector>(
        _ context: InstrumentationContext,
        into carrier: inout Carrier,
        using injector: Inject
    ) where Inject.Carrier == Carrier {
        for (name, value) in fields { injector.inject(value, forKey: name, into: &carrier) }
        guard let span = context.inMemorySpanContext else { return }
        injector.inject("00-\(span.traceID)-\(span.spanID)-01", forKey: "traceparent", into: &carrier)
        if let tenant = context.tenant { injector.inject("tenant=\(tenant)", forKey: "baggage", into: &carrier) }
    }

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier,
        into context: inout InstrumentationContext,
        using extractor: Extract
    ) where Extract.Carrier == Carrier {}
}

private enum TenantKey: ServiceContextKey {
    typealias Value = String
}

extension ServiceContext {
    /// A value that is sent as baggage.
    var tenant: String? {
        get { self[TenantKey.self] }
        set { self[TenantKey.self] = newValue }
    }
}

extension FieldTracer {
    /// The ended spans in the order of their starts.
    var ended: [FinishedInMemorySpan] {
        spans.finishedSpans.sorted {
            ($0.startInstant.nanosecondsSinceEpoch, $0.number) < ($1.startInstant.nanosecondsSinceEpoch, $1.number)
        }
    }
    /// The ended spans of the requests.
    var requests: [FinishedInMemorySpan] { ended.filter { $0.kind == .client } }
    /// The ended spans of the calls.
    var calls: [FinishedInMemorySpan] { ended.filter { $0.operationName == "HTTP call" } }

    func ended(named name: String) -> [FinishedInMemorySpan] { ended.filter { $0.operationName == name } }
}

extension FinishedInMemorySpan {
    /// The number of the span in its tracer.
    var number: Int { Int(spanID.drop { !$0.isNumber }) ?? 0 }
    /// The field by which a server identifies the span.
    var traceparent: String { "00-\(traceID)-\(spanID)-01" }
    /// The attributes as texts.
    var texts: [String: String] {
        var texts: [String: String] = [:]
        attributes.forEach { key, value in
            texts[key] =
                switch value.toSpanAttribute() {
                case .int32(let number): "\(number)"
                case .int64(let number): "\(number)"
                case .string(let text): text
                case .stringArray(let texts): texts.joined(separator: ",")
                default: "\(value)"
                }
        }
        return texts
    }
    var isError: Bool { status?.code == .error }

    /// Whether the span begins and ends within another one, which is its parent.
    func isNested(in parent: FinishedInMemorySpan) -> Bool {
        parentSpanID == parent.spanID && traceID == parent.traceID
            && parent.startInstant.nanosecondsSinceEpoch <= startInstant.nanosecondsSinceEpoch
            && startInstant.nanosecondsSinceEpoch <= endInstant.nanosecondsSinceEpoch
            && endInstant.nanosecondsSinceEpoch <= parent.endInstant.nanosecondsSinceEpoch
    }
}
#endif
