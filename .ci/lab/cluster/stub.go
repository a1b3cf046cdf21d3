package main

import "context"

func strangers(ctx context.Context, t *trial) error { return nil }
func (o *options) scale(ctx context.Context) error  { return nil }
func (o *options) soak(ctx context.Context) error   { return nil }
