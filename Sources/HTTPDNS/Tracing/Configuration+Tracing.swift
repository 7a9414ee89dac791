// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Tracing
internal import HTTPDNSPrimitives
public import Tracing

extension HTTPDNSClient.Configuration {
    /// The settings of traces, with the package trait `Tracing`.
    public struct Tracing: Sendable {
        /// The tracer that gets the spans of the client; nil for no spans.
        ///
        /// The default is `InstrumentationSystem.tracer` at the time at which these settings are created. It is nil where no
        /// tracer was bootstrapped or bound by then. The client keeps the tracer that it was made with; a reload does not
        /// change it.
        public var tracer: (any Tracer)?
        /// Whether baggage is also sent to other origins than the caller's, to which redirects and interceptors lead.
        ///
        /// Otherwise requests to such an origin have only those fields of the tracer that identify the span: `traceparent`,
        /// `tracestate`, `b3`, the fields that begin with `x-b3-`, `uber-trace-id`, `x-amzn-trace-id` and
        /// `x-cloud-trace-context`.
        public var sendsBaggageToOtherOrigins = false

        /// Creates the defaults.
        public init() {
            let tracer = InstrumentationSystem.tracer
            self.tracer = tracer is NoOpTracer ? nil : tracer
        }
    }

    /// The settings of traces: which tracer gets a span for each call, and for each request on the wire.
    ///
    /// The parent of the call's span is `ServiceContext.current` of the caller, also of a callback call and a blocking call.
    public var tracing: Tracing {
        get { callTracing as? Tracing ?? Tracing() }
        set { callTracing = newValue }
    }

    /// The default of ``tracing``.
    static var defaultTracing: (any CallTracing)? { Tracing() }
}

extension HTTPDNSClient.Configuration.Tracing: CallTracing {
    var hasTracer: Bool { tracer != nil }

    func begin(_ request: HTTPDNSClient.Request, at start: MonotonicTime) -> any CallTrace {
        SpanTrace(
            of: request,
            at: start,
            by: tracer ?? NoOpTracer(),
            sendsBaggageToOtherOrigins: sendsBaggageToOtherOrigins
        )
    }
}
#else
extension HTTPDNSClient.Configuration {
    /// Not available in this build.
    @available(*, unavailable, message: "traces need the trait Tracing of the package swift-httpdns")
    public struct Tracing: Sendable {
        // Without these members the compiler would report that they are missing, and not the trait.
        /// Not available in this build.
        public var tracer: (any Sendable)?
        /// Not available in this build.
        public var sendsBaggageToOtherOrigins = false

        /// Not available in this build.
        public init() {}
    }

    /// Not available in this build.
    @available(*, unavailable, message: "traces need the trait Tracing of the package swift-httpdns")
    public var tracing: Tracing {
        get { Tracing() }
        set {}
    }

    /// None in this build.
    static var defaultTracing: (any CallTracing)? { nil }
}
#endif
