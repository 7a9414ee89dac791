/// Where the streams of request bodies are read.
package enum StreamReading {
    /// For the transfers of the present task; nil: on the runtime's threads. A task that is started for a stream does not inherit
    /// the preference of the one that sends it, and a blocking call may be what has all of those threads.
    @TaskLocal package static var executor: (any TaskExecutor)?
}
